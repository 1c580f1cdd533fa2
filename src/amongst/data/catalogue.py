"""The datasets of the paper, and some that its users ask for: one entry each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amongst.checks import check_choice
from amongst.data.entries import Entry, File

__all__ = ["CATALOGUE", "entry", "names"]

DIGITS = tuple("0123456789")
FASHION = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")  # fmt: skip
TABLES_1_AND_3 = "Tables 1 and 3, Figures 1 and 2: candidates generated, {}"
PALM = "http://palm.seu.edu.cn/zhangml/files/"
PL_CL = "https://raw.githubusercontent.com/Chongjie-Si/PL-CL/d17d1953c0ae73303c8f23ae8261ec2e9039c27e/dataset/"
REAL_WORLD = "https://raw.githubusercontent.com/pruirui/partial_label_realworld_dataset/a43c823f1cf2575e7fc74bcdfc307463e0bd44bd/"
HOOLIGAN = "https://raw.githubusercontent.com/Hooligan10/Exact_Passive_Aggressive_Classification_Partial-Labels/b23f1a7a01475b88c8fe9c75631a2a4e4e235a6a/datasets/"
AS_RAR = (
    "Published as a .rar archive, which cannot be fetched for you: unpack it and put the .mat into "
    "the data folder. The reader was tested on files of this layout that the tests make, not on "
    "the real one, so there is no checksum; shape and statistics are checked."
)
BY_HAND = "No direct origin of this very file is known; put it into the data folder by hand."

_lines = (Path(__file__).parent / "SHA256SUMS").read_text("utf-8").splitlines()
SHA256 = {name: sha256 for sha256, name in (line.split("  ", 1) for line in _lines)}
"""Of each file, under the name of its dataset; as ``sha256sum`` writes and checks them."""

IDX: dict[str, Any] = {
    "layout": "idx",
    "files": (
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ),
    "n_train": 60_000,
    "n_test": 10_000,
    "row": (28, 28),
    "n_classes": 10,
    "scaling": "unit",
    "used_for": TABLES_1_AND_3.format("MLP"),
}
CIFAR: dict[str, Any] = {
    "n_train": 50_000,
    "n_test": 10_000,
    "row": (3, 32, 32),
    "n_classes": 10,
    "scaling": "channel",
    "class_names": [
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ],
}
REAL: dict[str, Any] = {
    "layout": "mat",
    "home": "pll",
    "scaling": "standard",
    "licence": "academic only",
    "terms": "for academic purpose only (pre-processed by Min-Ling Zhang)",
    "used_for": "Table 2: linear and MLP, 10-fold cross-validation",
}
CROWD: dict[str, Any] = {
    "layout": "crowd",
    "licence": "not stated",
    "source": "https://github.com/fmenat/PyLearningCrowds",
    "used_for": "answers of raters: a candidate set holds what was said of a row, by votes; not in "
    "the paper",
    "others": {"answers.txt": ("answers.txt.gz",)},
    "home": "crowd/{}",
}
UCI: dict[str, Any] = {
    "home": "uci",
    "scaling": "standard",
    "licence": "CC BY 4.0*",
    "terms": "UCI terms, commonly given as CC BY 4.0; not checked",
    "used_for": "not in the paper; candidates generated",
    "note": BY_HAND,
}


def _entry(name: str, shared: dict[str, Any], **own: Any) -> Entry:
    """An entry, with what it shares with others of its kind; its files are at each of its origins."""
    given = shared | own
    origins, others = given.pop("origins", ()), given.pop("others", {})
    files = tuple(
        File(
            file,
            SHA256.get(f"{name}/{file}"),
            tuple(o + file for o in origins),
            others.get(file, ()),
        )
        for file in given.pop("files", ())
    )
    if "home" in given:
        given["folders"] = (given.pop("home").format(name), name, "")
    given["class_names"] = tuple(given.get("class_names", ()))
    return Entry(name, files=files, **given)


CATALOGUE: tuple[Entry, ...] = (
    _entry(
        "digits",
        {},
        title="Optical digits, 8×8",
        layout="embedded",
        n_train=1797,
        row=(8, 8),
        n_classes=10,
        scaling="unit",
        top=16.0,
        class_names=DIGITS,
        licence="CC BY 4.0",
        citation="E. Alpaydin, C. Kaynak. Optical Recognition of Handwritten Digits. UCI, 1998.",
        source="comes with scikit-learn (load_digits)",
        used_for="not in the paper; small enough for examples and tests",
    ),
    _entry(
        "mnist",
        IDX,
        title="MNIST",
        class_names=DIGITS,
        licence="CC BY-SA 3.0*",
        terms="commonly given as CC BY-SA 3.0 (LeCun, Cortes); not checked",
        citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner. Gradient-based learning applied to "
        "document recognition. Proceedings of the IEEE 86(11), 1998.",
        source="http://yann.lecun.com/exdb/mnist/",
        folders=("mnist", "MNIST/raw"),
        origins=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
    ),
    _entry(
        "fashion_mnist",
        IDX,
        title="Fashion-MNIST",
        class_names=FASHION,
        licence="MIT",
        terms="MIT (Zalando SE)",
        citation="H. Xiao, K. Rasul, R. Vollgraf. Fashion-MNIST: a novel image dataset for "
        "benchmarking machine learning algorithms. arXiv:1708.07747, 2017.",
        source="https://github.com/zalandoresearch/fashion-mnist",
        folders=("fashion_mnist", "FashionMNIST/raw"),
        origins=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    ),
    _entry(
        "kmnist",
        IDX,
        title="Kuzushiji-MNIST",
        class_names=["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"],
        licence="CC BY-SA 4.0",
        terms="CC BY-SA 4.0; KMNIST Dataset (created by CODH), adapted from Kuzushiji Dataset "
        "(created by NIJL and others), doi:10.20676/00000341",
        citation="T. Clanuwat et al. Deep learning for classical Japanese literature. "
        "arXiv:1812.01718, 2018.",
        source="http://codh.rois.ac.jp/kmnist/",
        folders=("kmnist", "KMNIST/raw"),
        origins=("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
    ),
    _entry(
        "cifar10",
        CIFAR,
        title="CIFAR-10",
        layout="cifar",
        licence="none declared",
        terms="none declared by its authors; cite Krizhevsky 2009",
        citation="A. Krizhevsky. Learning multiple layers of features from tiny images. "
        "Technical report, University of Toronto, 2009.",
        source="https://www.cs.toronto.edu/~kriz/cifar.html",
        used_for=TABLES_1_AND_3.format("ConvNet, no augmentation"),
        note="Read from cifar-10-python.tar.gz, from its extracted folder cifar-10-batches-py, or "
        "from lossless WebP sheets of the same pixels; pixels and labels have checksums of their "
        "own, whichever it is.",
        folders=("", "cifar10"),
        files=("cifar-10-python.tar.gz",),
        origins=("https://www.cs.toronto.edu/~kriz/",),
    ),
    _entry(
        "cifar10n",
        CIFAR,
        title="CIFAR-10N, three human labels",
        layout="cifar10n",
        mean_size=1.46,
        truth_inside=0.97866,
        licence="CC BY-NC 4.0",
        terms="CC BY-NC 4.0 (the labels); the images as cifar10",
        citation="J. Wei et al. Learning with noisy labels revisited: a study using real-world "
        "human annotations. ICLR 2022.",
        source="https://github.com/UCSC-REAL/cifar-10-100n",
        used_for="not in the paper; human candidate sets, of which 2.1 % miss the true label",
        note="A row's candidates are the labels of its three annotators; images and test part are "
        "those of cifar10. The labels have a checksum of their own, whichever file they are in.",
        folders=("", "cifar10", "cifar10n"),
        files=("CIFAR-10_human.pt",),
        origins=("https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data/",),
        others={"CIFAR-10_human.pt": ("cifar10n.npz",)},
    ),
    _entry(
        "lost",
        REAL,
        title="Lost (faces in a television series)",
        n_train=1122,
        row=(108,),
        n_classes=16,
        mean_size=2.23,
        citation="T. Cour, B. Sapp, B. Taskar. Learning from partial labels. JMLR 12, 2011.",
        source=PALM + "lost.rar",
        note="14 of the 16 classes occur as a true label.",
        files=("lost.mat",),
        origins=(PL_CL,),
    ),
    _entry(
        "msrcv2",
        REAL,
        title="MSRCv2 (objects in image segments)",
        n_train=1758,
        row=(48,),
        n_classes=23,
        mean_size=3.16,
        citation="L. Liu, T. Dietterich. A conditional multinomial mixture model for superset "
        "label learning. NIPS 2012.",
        source=PALM + "MSRCv2.rar",
        files=("MSRCv2.mat",),
        origins=(PL_CL,),
        others={"MSRCv2.mat": ("msrcv2.mat",)},
    ),
    _entry(
        "birdsong",
        REAL,
        title="BirdSong (syllables in recordings)",
        n_train=4998,
        row=(38,),
        n_classes=13,
        mean_size=2.18,
        citation="F. Briggs, X. Fern, R. Raich. Rank-loss support instance machines for MIML "
        "instance annotation. KDD 2012.",
        source=PALM + "BirdSong.rar",
        files=("BirdSong.mat",),
        origins=(REAL_WORLD,),
        others={"BirdSong.mat": ("birdsong.mat",)},
    ),
    _entry(
        "soccer_player",
        REAL,
        title="Soccer Player (faces and captions)",
        n_train=17_472,
        row=(279,),
        n_classes=171,
        mean_size=2.09,
        citation="Z. Zeng et al. Learning by associating ambiguously labeled images. CVPR 2013.",
        source=PALM + "Soccer%20Player.rar",
        note=AS_RAR,
        files=("Soccer Player.mat",),
        others={"Soccer Player.mat": ("soccer_player.mat",)},
    ),
    _entry(
        "yahoo_news",
        REAL,
        title="Yahoo! News (faces and captions)",
        n_train=22_991,
        row=(163,),
        n_classes=219,
        mean_size=1.91,
        citation="M. Guillaumin, J. Verbeek, C. Schmid. Multiple instance metric learning from "
        "automatically labeled bags of faces. ECCV 2010.",
        source=PALM + "Yahoo!%20News.rar",
        note=AS_RAR,
        files=("Yahoo! News.mat",),
        others={"Yahoo! News.mat": ("yahoo_news.mat",)},
    ),
    _entry(
        "fgnet",
        REAL,
        title="FG-NET (ages of faces)",
        n_train=1002,
        row=(262,),
        n_classes=78,
        mean_size=7.48,
        citation="G. Panis, A. Lanitis. An overview of research activities in facial age "
        "estimation using the FG-NET aging database. ECCV workshops 2014.",
        source=PALM + "FG-NET.rar",
        used_for="not in the paper; a common real set with large candidate sets",
        note="63 of the 78 classes occur as a true label.",
        files=("FG-NET.mat",),
        origins=(PL_CL,),
        others={"FG-NET.mat": ("fgnet.mat",)},
    ),
    _entry(
        "labelme",
        CROWD,
        title="LabelMe (scenes, by 59 raters)",
        n_train=1000,
        n_test=1188,
        row=(512,),
        n_classes=8,
        mean_size=1.36,
        truth_inside=0.889,
        scaling="standard",
        citation="F. Rodrigues, F. Pereira. Deep learning from crowds. AAAI 2018.",
        note="Features are those of a VGG network, averaged over the image. The 500 rows of the "
        "validation part are left out.",
        files=(
            "LabelMe_VGG_avg_train.npy",
            "LabelMe_VGG_avg_test.npy",
            "LabelMe_Z_train.txt",
            "LabelMe_Z_test.txt",
            "answers.txt",
        ),
    ),
    _entry(
        "sentiment",
        CROWD,
        title="Sentiment polarity (sentences, by 203 raters)",
        n_train=4999,
        n_test=3999,
        row=(),
        n_classes=2,
        mean_size=1.62,
        truth_inside=0.9904,
        scaling="none",
        citation="F. Rodrigues, F. Pereira, B. Ribeiro. Learning from multiple annotators: "
        "distinguishing good from random labelers. Pattern Recognition Letters 34, 2013.",
        note="Features are texts, one a row: make numbers of them, as with TfidfVectorizer.",
        files=(
            "Sentiment_text_train.txt",
            "Sentiment_text_test.txt",
            "Sentiment_Z_train.txt",
            "Sentiment_Z_test.txt",
            "answers.txt",
        ),
    ),
    _entry(
        "usps",
        UCI,
        title="USPS digits, 16×16",
        layout="h5",
        n_train=7291,
        n_test=2007,
        row=(256,),
        n_classes=10,
        scaling="none",
        class_names=DIGITS,
        licence="not stated",
        terms="",
        citation="J. Hull. A database for handwritten text recognition research. PAMI 16(5), 1994.",
        source="https://www.openml.org/d/41082",
        note=BY_HAND + " Pixels are in [0, 1] already.",
        files=("usps.h5",),
    ),
    _entry(
        "optdigits",
        UCI,
        title="Optical digits (as .mat)",
        layout="mat",
        n_train=5620,
        row=(62,),
        n_classes=10,
        class_names=DIGITS,
        citation="E. Alpaydin, C. Kaynak. Optical Recognition of Handwritten Digits. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/80",
        note=BY_HAND + " It has 62 of the 64 original columns.",
        truth_key="label",
        files=("optdigits.mat",),
    ),
    _entry(
        "pendigits",
        UCI,
        title="Pen-based digits",
        layout="arff",
        n_train=10_992,
        row=(16,),
        n_classes=10,
        citation="E. Alpaydin, F. Alimoglu. Pen-Based Recognition of Handwritten Digits. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/81",
        files=("pendigits.arff",),
    ),
    _entry(
        "mfeat_fourier",
        UCI,
        title="Multiple features, Fourier",
        layout="arff",
        n_train=2000,
        row=(76,),
        n_classes=10,
        citation="R. Duin. Multiple Features. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/72",
        files=("mfeat-fourier.arff",),
    ),
    _entry(
        "ecoli",
        UCI,
        title="Ecoli (protein localisation)",
        layout="arff",
        n_train=336,
        row=(7,),
        n_classes=8,
        citation="K. Nakai. Ecoli. UCI, 1996.",
        source="https://archive.ics.uci.edu/dataset/39",
        files=("ecoli.arff",),
    ),
    _entry(
        "dermatology",
        UCI,
        title="Dermatology",
        layout="csv",
        n_train=358,
        row=(34,),
        n_classes=6,
        citation="N. Ilter, H. Guvenir. Dermatology. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/33",
        note="It has 358 of the 366 original rows.",
        files=("dermatology.txt",),
        origins=(HOOLIGAN,),
    ),
)
"""Every dataset that `load` knows by name."""


def names() -> list[str]:
    """The names of all datasets, in the order of the catalogue.

    >>> names()[:5]
    ['digits', 'mnist', 'fashion_mnist', 'kmnist', 'cifar10']
    """
    return [entry.name for entry in CATALOGUE]


def entry(name: str) -> Entry:
    """What the catalogue says of a dataset.

    >>> entry("yahoo_news").mean_size
    1.91
    >>> entry("minst")
    Traceback (most recent call last):
    amongst.errors.InputError: name='minst' is unknown; did you mean 'mnist' or ... Choose from: ...
    """
    check_choice("name", name, names())
    return next(found for found in CATALOGUE if found.name == name)
