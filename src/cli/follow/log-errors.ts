// The numbered errors of the arguments of `kubenode logs`.
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
  KN1002_log: {
    text: 'cannot read {option} {value}',
    next: 'give {wanted}',
  },
  KN1002_twoComponents: {
    text: 'cannot show the log of two components: {first} as the argument and {second} after --container',
    next: 'name one of them',
  },
})
