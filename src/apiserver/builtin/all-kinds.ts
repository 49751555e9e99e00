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
]
