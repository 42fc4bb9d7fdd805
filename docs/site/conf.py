"""The documents as a site: Sphinx with MyST reads the files as they are on any Git hosting, and nothing is written for the site
alone. script/docs calls it with the root of the tree as the source."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

project = "benchd"
author = "the benchd authors"
version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**", "dashboards/README.md"]
exclude_patterns = ["docs/site", "build*", "subprojects"]
myst_heading_anchors = 4  # the same names that Git hostings give to headings
highlight_language = "none"  # blocks are what a terminal shows
html_theme = "furo"
html_title = f"benchd {version}"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def drop_folders(source, folder):
    """A link to a folder has no page: its words stay."""
    return LINK.sub(lambda m: m[1] if (folder / m[2]).is_dir() else m[0], source)


def contents():
    """The sections of docs/README.md, which is the table of contents, as Sphinx wants them; what it does not name comes last."""
    index = ROOT / "docs" / "README.md"
    sections, seen = {}, {"README"}
    title = None
    for line in index.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = line[3:].split(":")[0]
        for name in LINK.findall(line):
            path = (index.parent / name[1]).resolve()
            page = path.relative_to(ROOT).with_suffix("").as_posix()
            if path.suffix == ".md" and page not in seen and title is not None:
                seen.add(page)
                sections.setdefault(title, []).append(page)
    sections.setdefault("The project", []).append("docs/README")
    return "\n".join("```{toctree}\n:hidden:\n:caption: " + title + "\n\n" + "\n".join("/" + page for page in pages) + "\n```\n"
                     for title, pages in sections.items())


def on_source(_, name, source):
    source[0] = drop_folders(source[0], (ROOT / name).parent)
    if name == root_doc:
        source[0] += "\n" + contents()


def setup(app):
    app.connect("source-read", on_source)
