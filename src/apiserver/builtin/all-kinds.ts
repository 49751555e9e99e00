// Every built-in kind, once.
import { certificateSigningRequest } from './certificate-request.ts'
import { configurationKinds } from './configuration.ts'
import { eventKinds } from './event.ts'
import type { BuiltinKinds } from './kind.ts'
import { lease } from './lease.ts'
import { namespace } from './namespace.ts'
import { node } from './node.ts'
import { rbacKinds } from './rbac.ts'
import { serviceAccount } from './service-account.ts'
import { reviewKinds } from './reviews.ts'
import { networkKinds } from './network-kinds.ts'
import { schedulingKinds } from './scheduling-kinds.ts'
import { storageKinds } from './storage-kinds.ts'
import { workloadKinds } from './workload-kinds.ts'

export const builtinKinds: BuiltinKinds = [
  namespace,
  ...configurationKinds,
  serviceAccount,
  node,
  lease,
  ...eventKinds,
  ...rbacKinds,
  certificateSigningRequest,
  ...reviewKinds,
  ...workloadKinds,
  ...storageKinds,
  ...networkKinds,
  ...schedulingKinds,
]
