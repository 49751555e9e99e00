// The kinds of the group apps.
import { controllerRevision } from './controller-revision.ts'
import { daemonSet } from './daemon-set.ts'
import { deployment } from './deployment.ts'
import { replicaSet } from './replica-set.ts'
import { statefulSet } from './stateful-set.ts'

export const appsKinds = [deployment, replicaSet, statefulSet, daemonSet, controllerRevision] as const
