import FirnCrypto
import FirnLog

// The types of the log that appear in the store's interface. Code that uses a store need not import the log.

package typealias LogOptions = FirnLog.LogOptions
package typealias LogError = FirnLog.LogError
package typealias HistoryRetention = FirnLog.HistoryRetention
package typealias RecoveryReport = FirnLog.RecoveryReport
package typealias SeenStore = FirnLog.SeenStore
package typealias StoreRemoval = FirnLog.StoreRemoval
package typealias EncryptionKey = FirnCrypto.EncryptionKey
package typealias ClockChange = FirnLog.ClockChange
