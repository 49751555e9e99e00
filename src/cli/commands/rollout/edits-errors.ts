// The numbered errors of restore and of allowed edits.
import { errorTable } from '#lib/error-table.ts'

export const editsErrors = errorTable({
  KN1325_edit: {
    text: 'cannot restore or allow edits of {what}',
    next: 'name set/NAME, machineset/NAME, canary/NAME, remedier/NAME or policy/NAME',
  },
  KN1374_notCorrected: {
    text: 'nothing to do for {what}: git does not declare it, or its source does not correct drift',
    next: 'edits of it take effect at once',
  },
  KN1393: {
    text: 'cannot restore {what}: the cluster has no copy of the version in git',
    next: 'apply it from the repository, or wait for sync',
  },
  KN1002_edit: {
    text: 'cannot allow the edit for {length}',
    next: 'write a duration such as 30m or 8h, at most 7d',
  },
  KN1395: {
    text: 'cannot allow {digest}: the content of {what} is {found} now',
    next: 'kubenode trace {what} shows who wrote it',
  },
  KN1374_inSync: {
    text: 'cannot allow an edit of {what}: it is in sync with git',
    next: 'edit it first, then allow the digest that kubenode why shows',
  },
  KN1395_restore: {
    text: 'cannot restore {what}: it was edited again just now',
    next: 'check the newer edit, then run the command again',
  },
})
