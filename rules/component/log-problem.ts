// A component that logged a line that indicates a problem: collect its log, restart it, and reinstall it if the line returns.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** `condition` is the one that the agents' log rules set. It must end by itself or by a line, or no repair is ever seen to have helped. */
export const logProblem = (condition: string, component: string): NodeRemedierInput['spec'] => ({
  when: { all: [{ fact: 'conditions', path: `/${condition}/status`, operator: 'equal', value: 'True' }] },
  for: '1s',
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['Journal', 'Components'] } }, { restartComponent: { component } }],
      timeout: '2m',
      verify: { conditionCleared: condition, stableFor: '3s' },
    },
    {
      operations: [{ collectEvidence: { kinds: ['Journal', 'Components'] } }, { reinstallComponent: { component } }],
      timeout: '5m',
      verify: { conditionCleared: condition, stableFor: '3s' },
    },
  ],
  cooldown: '10s',
  limits: { perNodePerDay: 20, perHour: 40, perDay: 100, maxInFlight: 2 },
  relapseWindow: '10m',
})
