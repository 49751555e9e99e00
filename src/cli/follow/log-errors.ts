// The numbered errors of `kubenode logs`.
import { errorTable } from '#lib/error-table.ts'

export const logsErrors = errorTable({
  KN1325_logs: {
    text: 'cannot show logs of {what}: only agents of machines read logs',
    next: 'name machine/NAME or node/NAME; for pods use kubectl logs, for the programs of KubeNode kubectl -n kubenode-system logs deploy/kubenode-ROLE; those of a local fleet write into .kubenode/logs',
  },
  KN1313_component: {
    text: 'cannot show the log of {component} on machine {machine}: {why}',
    next: 'its components: {known}; leave the name out for the log of the agent',
  },
  KN1642: {
    text: 'cannot ask the agent of machine {machine} for a log: {why}',
    next: 'see kubenode why machine/{machine}; on the host itself the log is in the journal of its unit, or in the logs folder of the node',
  },
  KN1642_silent: {
    text: 'cannot show the log: the agent of machine {machine} did not answer within {waited}',
    next: 'the agent may be older than this command, or busy; see kubenode why machine/{machine}',
  },
  KN1644: {
    text: 'cannot show the log: the controllers did not pass the request on to machine {machine} within {waited}',
    next: 'check that the controllers run (kubenode check), or wait while other requests are answered (kubenode get logrequests)',
  },
  KN1642_component: {
    text: 'cannot show the log of {component} on machine {machine}: {why}',
    next: 'see kubenode why machine/{machine}',
  },
  KN1002_log: {
    text: 'cannot read {option} {value}',
    next: 'give {wanted}',
  },
  KN1449_logDeleted: {
    text: 'cannot show the log: the request was deleted while the answer was incomplete',
    next: 'run the command again',
  },
  KN1002_twoComponents: {
    text: 'cannot show the log of two components: {first} as the argument and {second} after --container',
    next: 'name one of them',
  },
})
