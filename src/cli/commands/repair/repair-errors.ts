// The numbered errors of why-not and repair.
import { errorTable } from '#lib/error-table.ts'

export const repairErrors = errorTable({
  KN1325_repair: {
    text: 'cannot {verb} {what}',
    next: 'name it as node/NAME, machine/NAME or remedier/NAME',
  },
  KN1002_repair: {
    text: 'cannot {verb} for {length}',
    next: 'write a duration such as 30m or 4h, at most 7d',
  },
  KN1325_whyNot: {
    text: 'cannot explain why {what} is not repaired',
    next: 'name a node, like node/NAME, or a machine, like machine/NAME',
  },
  KN1381: {
    text: 'cannot explain why machine/{name} is not repaired: it has no Node yet, and rules read conditions of Nodes',
    next: 'see kubenode why machine/{name}',
  },
  KN1338_repair: {
    text: 'cannot repair {what}: no rule is true for any node that it names, so there is nothing to repair',
    next: 'see kubenode why-not node/NAME; use --even-if-absent to request it anyway',
  },
  KN1732: {
    text: 'cannot repair {what}: MassFault of rule {rule}: {why}',
    next: 'find what these nodes share and correct it there (the last changes: kubenode history); repairs begin by themselves once fewer nodes have the fault; to take one node out of service now: kubectl drain NODE',
  },
})
