import Foundation
import RealmSwift

/// The tasks of some projects: what the application's screens call.
struct TaskTracker {
    let realm: Realm

    static let objectTypes: [ObjectBase.Type] = [
        TrackerTask.self, TrackerMember.self, TrackerProject.self, TrackerNote.self, TrackerAddress.self,
    ]

    static func configuration(_ name: String) -> Realm.Configuration {
        var configuration = Realm.Configuration()
        configuration.inMemoryIdentifier = name
        configuration.objectTypes = objectTypes
        return configuration
    }

    // MARK: Finding

    var tasks: Results<TrackerTask> { realm.objects(TrackerTask.self) }

    func project(_ key: String) -> TrackerProject? {
        realm.object(ofType: TrackerProject.self, forPrimaryKey: key)
    }

    func tasks(with status: TrackerStatus) -> Results<TrackerTask> {
        tasks.where { $0.status == status }.sorted(byKeyPath: "name")
    }

    /// What is not complete, and either important or due, the most important first.
    func agenda(at date: Date) -> Results<TrackerTask> {
        tasks
            .where { $0.status.in([.open, .inProgress]) && ($0.priority == .high || $0.due <= date) }
            .sorted(by: [
                SortDescriptor(keyPath: \TrackerTask.priority, ascending: false), SortDescriptor(keyPath: "due"),
            ])
    }

    /// What a member has to do.
    func workload(of name: String) -> Results<TrackerTask> {
        tasks.filter("assignee.name == %@ AND status != %@", name, TrackerStatus.complete.rawValue)
    }

    var alphabetical: SectionedResults<String, TrackerTask> { tasks.sectioned(by: \.firstLetter, ascending: true) }

    var byStatus: SectionedResults<TrackerStatus, TrackerTask> {
        tasks.sectioned(
            by: \.status, sortDescriptors: [SortDescriptor(keyPath: "status"), SortDescriptor(keyPath: "name")])
    }

    // MARK: Changing

    @discardableResult
    func addTask(_ name: String, to project: TrackerProject? = nil, _ change: (TrackerTask) -> Void = { _ in })
        -> TrackerTask
    {
        let task = TrackerTask(name)
        change(task)
        try! realm.write {
            realm.add(task)
            project?.tasks.append(task)
        }
        return task
    }

    func complete(_ task: TrackerTask) throws {
        try realm.write {
            task.status = .complete
            for subtask in task.subtasks { subtask.status = .complete }
        }
    }

    /// Deletes a task with all below it: a link does not own what it leads to, so the application does that by hand.
    func delete(_ task: TrackerTask) throws {
        try realm.write { deleteTree(task) }
    }

    private func deleteTree(_ task: TrackerTask) {
        for subtask in task.subtasks { deleteTree(subtask) }
        realm.delete(task)
    }

    /// Deletes a project, and the tasks that are in no other one.
    func delete(_ project: TrackerProject) throws {
        try realm.write {
            realm.delete(project.tasks.where { $0.project.count == 1 })
            realm.delete(project)
        }
    }
}
