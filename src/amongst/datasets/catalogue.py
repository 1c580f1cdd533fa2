"""The datasets of the paper, and some that its users ask for: one entry each."""

from __future__ import annotations

from collections.abc import Iterable

from amongst.checks import check_choice
from amongst.datasets.catalogue_uci import UCI
from amongst.datasets.entries import Entry, File
from amongst.errors import InputError

__all__ = ["CATALOGUE", "entry", "names"]

DIGITS = tuple("0123456789")
CIFAR_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")  # fmt: skip
FASHION_NAMES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")  # fmt: skip
KUZUSHIJI_NAMES = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")

IDX_NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
TABLES_1_AND_3 = "Tables 1 and 3, Figures 1 and 2: candidates generated, {}"
ACADEMIC = "for academic purpose only (pre-processed by Min-Ling Zhang)"
PALM = "http://palm.seu.edu.cn/zhangml/files/"
PL_CL = "https://raw.githubusercontent.com/Chongjie-Si/PL-CL/d17d1953c0ae73303c8f23ae8261ec2e9039c27e/dataset/"
REAL_WORLD = "https://raw.githubusercontent.com/pruirui/partial_label_realworld_dataset/a43c823f1cf2575e7fc74bcdfc307463e0bd44bd/"
BY_HAND = (
    "Published as a .rar archive, which cannot be fetched for you: unpack it and put the .mat into "
    "the data folder. The reader was tested on files of this layout that the tests make, not on "
    "the real one, so there is no checksum; shape and statistics are checked."
)


def _idx_files(origins: tuple[str, ...], hashes: tuple[str, ...]) -> tuple[File, ...]:
    return tuple(
        File(name, sha256, tuple(origin + name for origin in origins))
        for name, sha256 in zip(IDX_NAMES, hashes, strict=True)
    )


IMAGES = (
    Entry(
        name="digits",
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
    Entry(
        name="mnist",
        title="MNIST",
        layout="idx",
        n_train=60_000,
        n_test=10_000,
        row=(28, 28),
        n_classes=10,
        scaling="unit",
        class_names=DIGITS,
        licence="CC BY-SA 3.0*",
        terms="commonly given as CC BY-SA 3.0 (LeCun, Cortes); not checked",
        citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner. Gradient-based learning applied to "
        "document recognition. Proceedings of the IEEE 86(11), 1998.",
        source="http://yann.lecun.com/exdb/mnist/",
        used_for=TABLES_1_AND_3.format("MLP"),
        folders=("mnist", "MNIST/raw"),
        files=_idx_files(
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
            ),
            (
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ),
    ),
    Entry(
        name="fashion_mnist",
        title="Fashion-MNIST",
        layout="idx",
        n_train=60_000,
        n_test=10_000,
        row=(28, 28),
        n_classes=10,
        scaling="unit",
        class_names=FASHION_NAMES,
        licence="MIT",
        terms="MIT (Zalando SE)",
        citation="H. Xiao, K. Rasul, R. Vollgraf. Fashion-MNIST: a novel image dataset for "
        "benchmarking machine learning algorithms. arXiv:1708.07747, 2017.",
        source="https://github.com/zalandoresearch/fashion-mnist",
        used_for=TABLES_1_AND_3.format("MLP"),
        folders=("fashion_mnist", "FashionMNIST/raw"),
        files=_idx_files(
            ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
            (
                "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            ),
        ),
    ),
    Entry(
        name="kmnist",
        title="Kuzushiji-MNIST",
        layout="idx",
        n_train=60_000,
        n_test=10_000,
        row=(28, 28),
        n_classes=10,
        scaling="unit",
        class_names=KUZUSHIJI_NAMES,
        licence="CC BY-SA 4.0",
        terms="CC BY-SA 4.0; KMNIST Dataset (created by CODH), adapted from Kuzushiji Dataset "
        "(created by NIJL and others), doi:10.20676/00000341",
        citation="T. Clanuwat et al. Deep learning for classical Japanese literature. "
        "arXiv:1812.01718, 2018.",
        source="http://codh.rois.ac.jp/kmnist/",
        used_for=TABLES_1_AND_3.format("MLP"),
        folders=("kmnist", "KMNIST/raw"),
        files=_idx_files(
            ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
            (
                "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4",
                "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17",
                "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5",
                "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c",
            ),
        ),
    ),
    Entry(
        name="cifar10",
        title="CIFAR-10",
        layout="cifar",
        n_train=50_000,
        n_test=10_000,
        row=(3, 32, 32),
        n_classes=10,
        scaling="channel",
        class_names=CIFAR_NAMES,
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
        files=(
            File(
                "cifar-10-python.tar.gz",
                "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
            ),
        ),
    ),
    Entry(
        name="cifar10n",
        title="CIFAR-10N, three human labels",
        layout="cifar10n",
        n_train=50_000,
        n_test=10_000,
        row=(3, 32, 32),
        n_classes=10,
        scaling="channel",
        mean_size=1.46,
        truth_inside=0.97866,
        class_names=CIFAR_NAMES,
        licence="CC BY-NC 4.0",
        terms="CC BY-NC 4.0 (the labels); the images as cifar10",
        citation="J. Wei et al. Learning with noisy labels revisited: a study using real-world "
        "human annotations. ICLR 2022.",
        source="https://github.com/UCSC-REAL/cifar-10-100n",
        used_for="not in the paper; human candidate sets, of which 2.1 % miss the true label",
        note="A row's candidates are the labels of its three annotators; images and test part are "
        "those of cifar10. The labels have a checksum of their own, whichever file they are in.",
        folders=("", "cifar10", "cifar10n"),
        files=(
            File(
                "CIFAR-10_human.pt",
                None,
                (
                    "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data/"
                    "CIFAR-10_human.pt",
                ),
                other_names=("cifar10n.npz",),
            ),
        ),
    ),
)

PARTIAL = (
    Entry(
        name="lost",
        title="Lost (faces in a television series)",
        layout="mat",
        n_train=1122,
        row=(108,),
        n_classes=16,
        scaling="standard",
        mean_size=2.23,
        licence="academic only",
        terms=ACADEMIC,
        citation="T. Cour, B. Sapp, B. Taskar. Learning from partial labels. JMLR 12, 2011.",
        source=PALM + "lost.rar",
        used_for="Table 2: linear and MLP, 10-fold cross-validation",
        note="14 of the 16 classes occur as a true label.",
        folders=("pll", "lost", ""),
        files=(
            File(
                "lost.mat",
                "42a8cc43e05578087e7b8ca194647829ec535dc4d0a86cf47f357c5eb3146e4f",
                (PL_CL + "lost.mat",),
            ),
        ),
    ),
    Entry(
        name="msrcv2",
        title="MSRCv2 (objects in image segments)",
        layout="mat",
        n_train=1758,
        row=(48,),
        n_classes=23,
        scaling="standard",
        mean_size=3.16,
        licence="academic only",
        terms=ACADEMIC,
        citation="L. Liu, T. Dietterich. A conditional multinomial mixture model for superset "
        "label learning. NIPS 2012.",
        source=PALM + "MSRCv2.rar",
        used_for="Table 2: linear and MLP, 10-fold cross-validation",
        folders=("pll", "msrcv2", ""),
        files=(
            File(
                "MSRCv2.mat",
                "948e4d443a5450308f05aa689bc82d9bcc7af699a113a6a81c40ef337a20c393",
                (PL_CL + "MSRCv2.mat",),
                other_names=("msrcv2.mat",),
            ),
        ),
    ),
    Entry(
        name="birdsong",
        title="BirdSong (syllables in recordings)",
        layout="mat",
        n_train=4998,
        row=(38,),
        n_classes=13,
        scaling="standard",
        mean_size=2.18,
        licence="academic only",
        terms=ACADEMIC,
        citation="F. Briggs, X. Fern, R. Raich. Rank-loss support instance machines for MIML "
        "instance annotation. KDD 2012.",
        source=PALM + "BirdSong.rar",
        used_for="Table 2: linear and MLP, 10-fold cross-validation",
        folders=("pll", "birdsong", ""),
        files=(
            File(
                "BirdSong.mat",
                "2170d46765a151ac80623d9a1242e0299802236e5574442bdb596bef90f50743",
                (REAL_WORLD + "BirdSong.mat",),
                other_names=("birdsong.mat",),
            ),
        ),
    ),
    Entry(
        name="soccer_player",
        title="Soccer Player (faces and captions)",
        layout="mat",
        n_train=17_472,
        row=(279,),
        n_classes=171,
        scaling="standard",
        mean_size=2.09,
        licence="academic only",
        terms=ACADEMIC,
        citation="Z. Zeng et al. Learning by associating ambiguously labeled images. CVPR 2013.",
        source=PALM + "Soccer%20Player.rar",
        used_for="Table 2: linear and MLP, 10-fold cross-validation",
        note=BY_HAND,
        folders=("pll", "soccer_player", ""),
        files=(File("Soccer Player.mat", None, (), other_names=("soccer_player.mat",)),),
    ),
    Entry(
        name="yahoo_news",
        title="Yahoo! News (faces and captions)",
        layout="mat",
        n_train=22_991,
        row=(163,),
        n_classes=219,
        scaling="standard",
        mean_size=1.91,
        licence="academic only",
        terms=ACADEMIC,
        citation="M. Guillaumin, J. Verbeek, C. Schmid. Multiple instance metric learning from "
        "automatically labeled bags of faces. ECCV 2010.",
        source=PALM + "Yahoo!%20News.rar",
        used_for="Table 2: linear and MLP, 10-fold cross-validation",
        note=BY_HAND,
        folders=("pll", "yahoo_news", ""),
        files=(File("Yahoo! News.mat", None, (), other_names=("yahoo_news.mat",)),),
    ),
    Entry(
        name="fgnet",
        title="FG-NET (ages of faces)",
        layout="mat",
        n_train=1002,
        row=(262,),
        n_classes=78,
        scaling="standard",
        mean_size=7.48,
        licence="academic only",
        terms=ACADEMIC,
        citation="G. Panis, A. Lanitis. An overview of research activities in facial age "
        "estimation using the FG-NET aging database. ECCV workshops 2014.",
        source=PALM + "FG-NET.rar",
        used_for="not in the paper; a common real set with large candidate sets",
        note="63 of the 78 classes occur as a true label.",
        folders=("pll", "fgnet", ""),
        files=(
            File(
                "FG-NET.mat",
                "5b8d43e40cee007f6438a7a74d600b5cf67ac596754a322ce91b0fc6811f45db",
                (PL_CL + "FG-NET.mat",),
                other_names=("fgnet.mat",),
            ),
        ),
    ),
)


def checked(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries as a tuple, if no two have one name and each names all its classes or none.

    >>> len(checked(IMAGES))
    6
    """
    found = tuple(entries)
    known = [entry.name for entry in found]
    twice = sorted({name for name in known if known.count(name) > 1})
    if twice:
        raise InputError(f"the catalogue has two entries named {twice[0]!r}; rename one.")
    wrong = [e.name for e in found if e.class_names and len(e.class_names) != e.n_classes]
    if wrong:
        raise InputError(f"the entry {wrong[0]!r} does not name each of its classes once.")
    return found


CATALOGUE: tuple[Entry, ...] = checked((*IMAGES, *PARTIAL, *UCI))
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
