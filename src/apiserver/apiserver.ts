// The door of this room: everything that a program of KubeNode may use of the embedded API server. Nothing else of it is imported from outside, but by tests.
export { compiledPolicies, type CompiledPolicies } from './admission/compiled-policies.ts'
export type { ApiServerOptions } from './api-server.ts'
export type { MakeOpenPath } from './http/open-path.ts'
export { runApiServer, type RunOptions } from './run-api-server.ts'
export { backupData, OBJECTS } from './storage/backup.ts'
export { checkData, type DataReport } from './storage/check-data.ts'
export { openForReading, revisionOf } from './storage/data-file.ts'
export { restoreData } from './storage/restore.ts'
