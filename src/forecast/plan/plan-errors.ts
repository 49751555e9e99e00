// The numbered errors of `kubenode plan` and of inventories.
import { errorTable } from '#lib/error-table.ts'

export const planErrors = errorTable({
  KN1002_range: {
    text: 'cannot plan {range}',
    next: 'write BASE..HEAD with two commits or branches, or BASE...HEAD for what HEAD changed since it left BASE, without --base and --commit',
  },
  KN1002_oneEnd: {
    text: 'cannot tell the other end of the range from {revision} alone',
    next: 'for what changed since then write {revision}..HEAD; for what that commit itself changed, {revision}~1..{revision}',
  },
  KN1661: {
    text: 'cannot read the inventory {file}: {problem}',
    next: 'make it again with kubenode inventory export',
  },
  KN1002_twoInventories: {
    text: 'cannot predict cluster {cluster} from two inventories: {first} and {second}',
    next: 'leave one out',
  },
  KN1002_whichCluster: {
    text: 'cannot tell which cluster of the fleet this is: sync recorded {seen} in it',
    next: 'name it with --cluster',
  },
  KN1664: {
    text: 'cannot find {revision} in {repository}: {why}',
    next: 'see git branch -a and git log; a branch that only the remote has is called origin/NAME',
  },
  KN1666: {
    text: 'cannot find the commit at which {base} and {head} parted: the clone does not reach back to it, or there is more than one',
    next: 'fetch the whole history (git fetch --unshallow), or name the commit yourself: kubenode plan COMMIT..{commit}',
  },
})
