"""ES modules are joined into one that means the same, or refused."""

import re

import pytest

from course_lib.viz.web.bundle_modules import bundle_modules


@pytest.fixture
def bundle(tmp_path):
    """Bundle files that are given by name, without their ending; the entry module is ``main``."""

    def bundle_(**files):
        for name, text in files.items():
            stem, _, ending = name.partition("_")
            (tmp_path / f"{stem}.{ending or 'js'}").write_text(text, "utf-8")
        return bundle_modules(tmp_path / "main.js")

    return bundle_


def test_what_a_module_needs_comes_before_it(bundle):
    code = bundle(
        main='import { b } from "./b.js";\nimport { a } from "./a.js";\nexport const c = a + b;\n',
        a='import { b } from "./b.js";\nexport const a = b + 1;\n',
        b="export const b = 1;\n",
    )
    assert code == "const b=1;const a=b+1;export const c=a+b;"


def test_only_the_entry_module_keeps_its_exports(bundle):
    code = bundle(
        main='import { f, C } from "./a.js";\nexport default {\n  run: () => f(C),\n};\n',
        a="export async function f() {\n}\nexport class C {\n}\nexport let d;\n",
    )
    assert code.count("export") == 1
    assert "export default{run:()=>f(C),};" in code


def test_an_import_may_take_several_lines(bundle):
    code = bundle(
        main='import {\n  a,\n  b,\n} from "./a.js";\nexport const c = a + b;\n',
        a="export const a = 1;\nexport const b = 2;\n",
    )
    assert code == "const a=1;const b=2;export const c=a+b;"


def test_data_becomes_a_constant(bundle):
    code = bundle(
        main='import data from "./d.json" with { type: "json" };\nexport const x = data.x;\n',
        d_json='{\n  "x": "é // no comment"\n}\n',
    )
    assert code == 'const data={"x":"é // no comment"};export const x=data.x;'


def test_comments_and_spaces_go_but_not_what_looks_like_a_comment(bundle):
    code = bundle(
        main="// one\n/** two */\n/*/\n * three\n   four */\nconst a = `//` + '/* // */'; // five\n"
        "function f() {\n  // six\n  return `${a.map((x) => `<${x}>`)} // no`;\n}\n"
    )
    assert code == (
        "const a=`//`+'/* // */';function f(){return`${a.map((x) => `<${x}>`)} // no`;}"
    )


def test_two_modules_must_not_define_the_same_name(bundle):
    with pytest.raises(ValueError, match=r"defined once, got a in main\.js and b\.js.* rename one"):
        bundle(
            main='import { b } from "./b.js";\nconst a = b;\n',
            b="function a() {}\nexport const b = 1;",
        )


def test_a_module_may_be_in_a_folder_beside_that_of_the_entry(tmp_path):
    for path, text in {
        "page/main.js": 'import { a } from "../other/a.js";\nimport { b } from "./b.js";\n'
        "export const c = a + b;\n",
        "page/b.js": 'import { a } from "../other/a.js";\nexport const b = a;\n',
        "other/a.js": 'import { d } from "./b.js";\nexport const a = d;\n',
        "other/b.js": "export const d = 1;\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    code = bundle_modules(tmp_path / "page" / "main.js")
    assert code == "const d=1;const a=d;const b=a;export const c=a+b;"


def test_modules_must_not_import_each_other(bundle):
    circle = r"each other, got (a|b)\.js imports (?!\1)[ab]\.js imports \1\.js: "
    with pytest.raises(ValueError, match=circle):
        bundle(
            main='import { a } from "./a.js";\nconst m = a;\n',
            a='import { b } from "./b.js";\nexport const a = 1;\n',
            b='import { a } from "./a.js";\nexport const b = 1;\n',
        )


def test_an_imported_name_must_be_exported(bundle):
    with pytest.raises(ValueError, match=r"main\.js imports b from a\.js, which exports a: is it"):
        bundle(main='import { b } from "./a.js";\n', a="export const a = 1;\nconst b = 2;\n")
    with pytest.raises(ValueError, match="which exports nothing"):
        bundle(main='import { b } from "./a.js";\n', a="const b = 2;\n")


@pytest.mark.parametrize(
    "line",
    [
        'import "./a.js";',
        'import * as a from "./a.js";',
        'import { a as b } from "./a.js";',
        "import { a } from './a.js';",
        'import { a } from "../a.js";',
        'import { a } from "package";',
        'import a from "./a.js";',
        "export { a };",
        'export * from "./a.js";',
        "export const { a, b } = c;",
        "const [a] = b;",
        "var a = 1;",
        "let a, b;",
        "a();",
    ],
)
def test_a_form_that_is_not_known_is_refused(bundle, line):
    with pytest.raises(
        ValueError, match=r"main\.js has a form that the bundler does not know, got"
    ):
        bundle(main=f"{line}\n", a="export const a = 1;\n")


def test_another_module_has_no_default(bundle):
    with pytest.raises(
        ValueError, match=re.escape("a.js has a form that the bundler does not know")
    ):
        bundle(main='import { a } from "./a.js";\n', a="export default {\n};\n")
