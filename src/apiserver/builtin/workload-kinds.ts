// Every built-in kind that runs, reaches or limits pods, for the registry's list of all kinds.
import { admissionKinds } from './admission-registration.ts'
import { batchKinds } from './batch.ts'
import { endpoints, endpointSlice } from './endpoints.ts'
import type { BuiltinKinds } from './kind.ts'
import { pod } from './pod.ts'
import { policyKinds } from './policy.ts'
import { quotaKinds } from './quota.ts'
import { service } from './service.ts'
import { controllerRevision } from './controller-revision.ts'
import { daemonSet } from './daemon-set.ts'
import { deployment } from './deployment.ts'
import { replicaSet } from './replica-set.ts'
import { statefulSet } from './stateful-set.ts'

/** The kinds of the group apps. */
const appsKinds = [deployment, replicaSet, statefulSet, daemonSet, controllerRevision] as const

export const workloadKinds: BuiltinKinds = [
  pod,
  service,
  endpoints,
  endpointSlice,
  ...appsKinds,
  ...batchKinds,
  ...policyKinds,
  ...admissionKinds,
  ...quotaKinds,
]
