// The way of every change: test first, then production, one cluster at a time.
import { ReleasePipeline, type HubChart } from '#api/constructs/constructs.ts'

export function declarePipeline(hub: HubChart): void {
  new ReleasePipeline(hub, 'standard', {
    spec: {
      stages: [
        {
          name: 'test',
          clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'test' } } },
          gates: [{ name: 'ready', machinesReady: {} }],
          minSuccessTime: '10m',
        },
        {
          name: 'prod',
          clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'prod' } } },
          gates: [
            { name: 'ready', machinesReady: {} },
            { name: 'consistent', componentsConsistent: {} },
            { name: 'quiet', noNewRepairs: {} },
          ],
          minSuccessTime: '1h',
        },
      ],
    },
  })
}
