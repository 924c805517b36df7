"""What this course relies on in nbgrader: a version that breaks it fails here, by name."""

import inspect

import pytest
from nbgrader import api, converters, preprocessors, utils
from nbgrader.apps import ExportApp
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.server_extensions.formgrader import apihandlers, handlers
from traitlets.config import Config

COLUMNS = {
    api.Grade: {"auto_score", "manual_score", "extra_credit", "needs_manual_grade", "cell_id"},
    api.Comment: {"auto_comment", "manual_comment", "cell_id"},
    api.GradeCell: {"max_score", "cell_type", "name"},
    api.SourceCell: {"checksum", "name", "source", "locked"},
    api.SubmittedAssignment: {"timestamp", "student_id", "assignment_id"},
    api.SubmittedNotebook: {"late_submission_penalty"},
}
CALLS = {
    api.Gradebook.__init__: ["db_url", "course_id"],
    api.Gradebook.update_or_create_assignment: ["name", "kwargs"],
    api.Gradebook.update_or_create_student: ["student_id", "kwargs"],
    api.Gradebook.update_or_create_submission: ["assignment", "student", "kwargs"],
    api.Gradebook.find_notebook: ["name", "assignment"],
    api.Gradebook.find_submission_notebook: ["notebook", "assignment", "student"],
    api.Gradebook.assignment_submissions: ["assignment"],
    CourseDirectory.format_path: ["nbgrader_step", "student_id", "assignment_id"],
    preprocessors.SaveCells.preprocess: ["nb", "resources"],
    preprocessors.AssignLatePenalties.preprocess: ["nb", "resources"],
    utils.parse_utc: ["ts"],
}
SETTINGS = {
    converters.Autograde: {"exporter_class", "autograde_preprocessors", "sanitize_preprocessors"},
    ExportApp: {"plugin_class"},
    converters.GenerateFeedback: {"exporter_class", "preprocessors"},
    preprocessors.ClearSolutions: {"code_stub", "text_stub"},
    CourseDirectory: {f"{step}_directory" for step in ("source", "release", "submitted")}
    | {"autograded_directory", "db_url", "course_id", "root"},
}


@pytest.mark.parametrize("table", COLUMNS, ids=lambda table: table.__name__)
def test_the_gradebook_has_these_columns(table):
    tables = [parent.__table__ for parent in table.__mro__ if hasattr(parent, "__table__")]
    columns = {column.key for each in tables for column in each.columns}
    assert COLUMNS[table] <= columns


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__qualname__)
def test_these_functions_take_these_arguments(function):
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    assert names[: len(CALLS[function])] == CALLS[function]


@pytest.mark.parametrize("configurable", SETTINGS, ids=lambda each: each.__name__)
def test_these_settings_exist(configurable):
    assert SETTINGS[configurable] <= set(configurable.class_trait_names(config=True))


def test_steps_accept_our_classes_by_name():
    from course_lib.grading.nbgrader import nbgrader_hooks
    from course_lib.grading.nbgrader.nbgrader_settings import configure

    configure(config := Config())
    assert converters.Autograde(config=config).exporter_class is nbgrader_hooks.RefuseToRun
    feedback = converters.GenerateFeedback(config=config)
    assert feedback.exporter_class is nbgrader_hooks.FeedbackExporter


def test_a_kernel_that_grades_is_told_so():
    assert "NBGRADER_EXECUTION='autograde'" in inspect.getsource(converters.Autograde)


def test_a_person_marks_by_the_columns_that_we_leave_alone():
    source = inspect.getsource(apihandlers.GradeHandler.put)
    assert "grade.manual_score = " in source and "auto_score =" not in source
    assert "comment.manual_comment = " in inspect.getsource(apihandlers.CommentHandler.put)


def test_formgrader_shows_the_autograded_notebook():
    source = inspect.getsource(handlers.SubmissionHandler)
    assert "autograded_directory" in source and "from_filename" in source
    assert {"get_notebook_submissions", "get_autograded_students"} <= set(dir(NbGraderAPI))
