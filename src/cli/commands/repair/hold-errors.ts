// The numbered errors of freeze, thaw and unprotect.
import { errorTable } from '#lib/error-table.ts'

export const holdErrors = errorTable({
  KN1325_freeze: {
    text: 'cannot freeze or thaw {what}',
    next: 'name it as {Object}, or leave it out for the whole cluster',
  },
  KN1002_freeze: {
    text: 'cannot freeze for {length}',
    next: 'write a duration such as 30m or 4h, at most 30d',
  },
  KN1002_protection: {
    text: 'cannot lift protection for {length}',
    next: 'write a duration such as 10m, at most 24h',
  },
  KN1112_freeze: {
    text: 'cannot freeze or thaw a node at {path}: this is not the folder of an agent',
    next: "name the agent's folder, /var/lib/kubenode on a whole host",
  },
  KN1002_nodeFolder: {
    text: 'cannot use --node-folder together with {what}',
    next: 'leave one of them out',
  },
  KN1338: {
    text: 'cannot freeze this cluster: it has no Machine and no NodeRemedier, so nothing in it can be disrupted',
    next: 'point --kubeconfig at the cluster with the machines; to freeze this one all the same, add --even-if-absent',
  },
  KN1325_protection: {
    text: 'cannot lift the protection of {what}',
    next: 'name it as {Object}, or leave it out for the whole cluster',
  },
})
