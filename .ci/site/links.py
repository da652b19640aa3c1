"""Redirects links that leave docs/ to the repository, because the site does not have these files. A link to a missing file is an error."""
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def on_page_markdown(markdown, page, config, **_):
    directory = pathlib.Path(page.file.abs_src_path).parent

    def absolute(link):
        target = link.group(2)
        if re.match(r"[a-z]+:", target):
            return link.group(0)
        path = pathlib.Path(os.path.normpath(directory / target))
        inside = path.is_relative_to(ROOT / "docs") and path.suffix != ".json" and not path.is_dir()
        if inside:
            return link.group(0)
        if not path.exists():
            raise ValueError(f"{page.file.src_path}: {target} does not exist")
        kind = "tree" if path.is_dir() else "blob"
        return f"{link.group(1)}{config.repo_url}/{kind}/main/{path.relative_to(ROOT)}{link.group(3) or ''}{link.group(4)}"

    return LINK.sub(absolute, markdown)
