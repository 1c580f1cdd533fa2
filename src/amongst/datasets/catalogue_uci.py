"""Small tabular sets without candidates, on which the field generates them."""

from __future__ import annotations

from amongst.datasets.entries import Entry, File

__all__ = ["UCI"]

UCI_TERMS = "UCI terms, commonly given as CC BY 4.0; not checked"
NOT_IN_PAPER = "not in the paper; candidates generated"
BY_HAND = "No direct origin of this very file is known; put it into the data folder by hand."


UCI = (
    Entry(
        name="usps",
        title="USPS digits, 16×16",
        layout="h5",
        n_train=7291,
        n_test=2007,
        row=(256,),
        n_classes=10,
        scaling="none",
        class_names=tuple("0123456789"),
        licence="not stated",
        citation="J. Hull. A database for handwritten text recognition research. PAMI 16(5), 1994.",
        source="https://www.openml.org/d/41082",
        used_for=NOT_IN_PAPER,
        note=BY_HAND + " Pixels are in [0, 1] already.",
        folders=("uci", "usps", ""),
        files=(
            File("usps.h5", "734f88c541104a956d88be2c95d03b4a463ffd74ccc2ba9c80841fb98e3fcb36"),
        ),
    ),
    Entry(
        name="optdigits",
        title="Optical digits (as .mat)",
        layout="mat",
        n_train=5620,
        row=(62,),
        n_classes=10,
        scaling="standard",
        class_names=tuple("0123456789"),
        licence="CC BY 4.0*",
        terms=UCI_TERMS,
        citation="E. Alpaydin, C. Kaynak. Optical Recognition of Handwritten Digits. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/80",
        used_for=NOT_IN_PAPER,
        note=BY_HAND + " It has 62 of the 64 original columns.",
        truth_key="label",
        folders=("uci", "optdigits", ""),
        files=(
            File(
                "optdigits.mat", "73c782fcda662b2b415f7ca31b7fedccc7d0a52f44966c385dae1b4461484fe1"
            ),
        ),
    ),
    Entry(
        name="pendigits",
        title="Pen-based digits",
        layout="arff",
        n_train=10_992,
        row=(16,),
        n_classes=10,
        scaling="standard",
        licence="CC BY 4.0*",
        terms=UCI_TERMS,
        citation="E. Alpaydin, F. Alimoglu. Pen-Based Recognition of Handwritten Digits. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/81",
        used_for=NOT_IN_PAPER,
        note=BY_HAND,
        folders=("uci", "pendigits", ""),
        files=(
            File(
                "pendigits.arff", "505c70cefb468fe1b916664aaa73311400af95af163561c409a92c5f7f7ebf1d"
            ),
        ),
    ),
    Entry(
        name="mfeat_fourier",
        title="Multiple features, Fourier",
        layout="arff",
        n_train=2000,
        row=(76,),
        n_classes=10,
        scaling="standard",
        licence="CC BY 4.0*",
        terms=UCI_TERMS,
        citation="R. Duin. Multiple Features. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/72",
        used_for=NOT_IN_PAPER,
        note=BY_HAND,
        folders=("uci", "mfeat_fourier", ""),
        files=(
            File(
                "mfeat-fourier.arff",
                "1c98eb52401093d1e3cba3d82d2a6040a1eff473e6d62c572c266db434b34b2a",
            ),
        ),
    ),
    Entry(
        name="ecoli",
        title="Ecoli (protein localisation)",
        layout="arff",
        n_train=336,
        row=(7,),
        n_classes=8,
        scaling="standard",
        licence="CC BY 4.0*",
        terms=UCI_TERMS,
        citation="K. Nakai. Ecoli. UCI, 1996.",
        source="https://archive.ics.uci.edu/dataset/39",
        used_for=NOT_IN_PAPER,
        note=BY_HAND,
        folders=("uci", "ecoli", ""),
        files=(
            File("ecoli.arff", "48e668cfc46403a7ecf639cb9d71a72f1987be585ec49832d2214b38e7b689f3"),
        ),
    ),
    Entry(
        name="dermatology",
        title="Dermatology",
        layout="csv",
        n_train=358,
        row=(34,),
        n_classes=6,
        scaling="standard",
        licence="CC BY 4.0*",
        terms=UCI_TERMS,
        citation="N. Ilter, H. Guvenir. Dermatology. UCI, 1998.",
        source="https://archive.ics.uci.edu/dataset/33",
        used_for=NOT_IN_PAPER,
        note="It has 358 of the 366 original rows.",
        folders=("uci", "dermatology", ""),
        files=(
            File(
                "dermatology.txt",
                "0d432f7a6985a51ae83363f4ac82d68006f58f6fff80be9de55e64d7b30b5692",
                (
                    "https://raw.githubusercontent.com/Hooligan10/"
                    "Exact_Passive_Aggressive_Classification_Partial-Labels/"
                    "b23f1a7a01475b88c8fe9c75631a2a4e4e235a6a/datasets/dermatology.txt",
                ),
            ),
        ),
    ),
)
