// Kubelets hang while everything rolls out: the rules restart all of them, and few nodes are out at once.
import type { Scenario } from 'kubenode/scenario'

export const scenario: Scenario = {
  description: 'a fifth of the kubelets hangs within half an hour, each until it is restarted',
  faults: [
    { at: '10m', over: '30m', pick: { count: '20%' }, condition: 'KubeletUnhealthy', clearedBy: ['restartComponent'] },
  ],
  until: '2h',
  expect: ['complete == 1', 'faults.open == 0', 'own.share <= 10%'],
}
