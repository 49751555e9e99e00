// The numbered errors of `kubenode events`, `tree`, `watch` and `reconcile`.
import { errorTable } from '#lib/error-table.ts'

export const exploreErrors = errorTable({
  KN1325_belongings: {
    text: 'cannot show what belongs to {what}',
    next: 'name machine/NAME, node/NAME, release/NAME or set/NAME',
  },
  KN1325_follow: {
    text: 'cannot follow {what}',
    next: 'name set/NAME, or release/NAME on the hub',
  },
  KN1325_reconcile: {
    text: 'cannot reconcile {what}: sync reads sources',
    next: 'name source/NAME, or leave it out for every source',
  },
  KN1325_sources: {
    text: 'cannot reconcile now without a name: there are {names}',
    next: 'name one of them, or run kubenode reconcile for all of them',
  },
  KN1002_timeout: {
    text: 'cannot end after --timeout what is followed until Ctrl-C',
    next: 'add --until-done, or leave --timeout out',
  },
  KN1002_allNamespaces: {
    text: 'cannot list events of {what} in all namespaces: an object is in one namespace',
    next: 'leave --all-namespaces out; give the namespace with -n',
  },
})
