// Every built-in kind that runs, reaches or limits pods, for the registry's list of all kinds.
import { admissionKinds } from './admission-registration.ts'
import { appsKinds } from './apps.ts'
import { batchKinds } from './batch.ts'
import { endpoints, endpointSlice } from './endpoints.ts'
import type { BuiltinKinds } from './kind.ts'
import { pod } from './pod.ts'
import { policyKinds } from './policy.ts'
import { quotaKinds } from './quota.ts'
import { service } from './service.ts'

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
