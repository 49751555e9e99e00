import { expect, test } from 'vitest'
import { createScreen } from '#lib/terminal/screen.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { liveBlock } from '../../wait-screen.ts'
import { type PhaseProgress, PhaseCounter, phaseBars } from '#install/phase-bars.ts'

const PHASES = [
  { name: 'Namespaces', groups: [['a']] },
  {
    name: 'Definitions',
    groups: [
      ['b', 'c'],
      ['d', 'e'],
      ['f', 'g', 'h', 'i'],
    ],
  },
  { name: 'Settings', groups: [] },
  { name: 'Workloads', groups: [['j'], ['k']] },
]

test('each phase has a bar: done, under way, to come', () => {
  const seen: string[] = []
  const counter = new PhaseCounter(PHASES, (phases) => void seen.push(phaseBars(phases)))
  for (const name of ['Namespaces', ...Array(5).fill('Definitions'), 'Workloads']) counter.oneDone(name)
  expect(seen).toEqual([
    'namespaces[    ] definitions[    ] workloads[    ]',
    'namespaces[====] definitions[    ] workloads[    ]',
    'namespaces[====] definitions[-   ] workloads[    ]',
    'namespaces[====] definitions[=-  ] workloads[    ]',
    'namespaces[====] definitions[=-  ] workloads[    ]',
    'namespaces[====] definitions[==- ] workloads[    ]',
    'namespaces[====] definitions[==- ] workloads[    ]',
    'namespaces[====] definitions[==- ] workloads[==- ]',
  ])
})

test('on a terminal the bars and the waits are one block, which is gone when all is done', async () => {
  const clock = new VirtualClock()
  const pictures: (readonly string[])[] = []
  const { showPhases, showWait } = liveBlock({ show: (lines) => void pictures.push(lines) }, clock)
  const phases = (done: number): readonly PhaseProgress[] => [
    { name: 'rights', done: 3, total: 3 },
    { name: 'workloads', done, total: 2 },
  ]
  showPhases(phases(0))
  showWait('deployment kubenode-sync', '0 of 1 pods are ready')
  await clock.advance(5_000)
  showPhases(phases(1))
  showWait('deployment kubenode-sync', undefined)
  showPhases(phases(2))
  expect(pictures).toEqual([
    ['rights[====] workloads[    ]'],
    ['rights[====] workloads[    ]', 'waiting for deployment kubenode-sync: 0 of 1 pods are ready (0s)'],
    ['rights[====] workloads[==- ]', 'waiting for deployment kubenode-sync: 0 of 1 pods are ready (5s)'],
    ['rights[====] workloads[==- ]'],
    [],
  ])
})

test('what is said stays above the block, which is drawn again in its place', () => {
  let out = ''
  const screen = createScreen((text) => void (out += text), { isTerminal: true, foldsLongLines: true })
  const { showPhases } = liveBlock(screen, new VirtualClock())
  showPhases([{ name: 'rights', done: 0, total: 2 }])
  screen.say('definitions: 24 objects applied')
  showPhases([{ name: 'rights', done: 1, total: 2 }])
  showPhases([{ name: 'rights', done: 2, total: 2 }])
  // Each picture begins at the line of the one before.
  expect(out.replaceAll('\u001b', '^')).toBe(
    '\rrights[    ]^[K\n^[J^[1A\rdefinitions: 24 objects applied^[K\nrights[    ]^[K\n^[J^[1A\rrights[==- ]^[K\n^[J^[1A\r^[J',
  )
})
