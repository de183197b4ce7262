extension ObjectInserter {
    /// The managed object that `any` describes: a new one, or an updated one.
    ///
    /// - Parameter isValidating: whether mistakes at which writing would stop the program are thrown before anything is
    ///   written.
    static func create(
        _ type: ObjectBase.Type, any: Any, in realm: _RealmInstance, policy: Realm.UpdatePolicy,
        isValidating: Bool = false
    ) throws -> ObjectBase {
        _ = realm.writing("create an object of \(type.className())")
        if isValidating { try realm.checkDamage() }
        try policy.check(isValidating ? realm.checkedBinding(of: type).info : realm.binding(of: type).info)
        var resolution = Resolution(realm, policy)
        let object = try resolution.resolve(type, any)
        let inserter = ObjectInserter(realm: realm, policy: policy, "create an object of \(type.className())")
        do {
            if isValidating { try inserter.check(object, resolution.changes) }
            try inserter.apply(resolution.changes)
            _ = try inserter.add(object)
        } catch {
            resolution.dropLinks()
            throw error
        }
        return object
    }
}
