import { expect, test } from 'vitest'
import { createScreen } from '#lib/terminal/screen.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { liveBlock } from '../../wait-screen.ts'
import { type PhaseProgress, PhaseCounter, phaseBar } from '#install/phase-bars.ts'

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

test('the phase under way has a bar that fits into 80 columns, and phases without objects do not count', () => {
  const seen: (string | undefined)[] = []
  const counter = new PhaseCounter(PHASES, (phases) => void seen.push(phaseBar(phases)))
  for (const name of ['Namespaces', ...Array(8).fill('Definitions'), 'Workloads', 'Workloads']) counter.oneDone(name)
  expect(seen).toEqual([
    'namespaces [                    ] 0 of 1 (phase 1 of 3)',
    'definitions [                    ] 0 of 8 (phase 2 of 3)',
    'definitions [==-                 ] 1 of 8 (phase 2 of 3)',
    'definitions [=====-              ] 2 of 8 (phase 2 of 3)',
    'definitions [=======-            ] 3 of 8 (phase 2 of 3)',
    'definitions [==========-         ] 4 of 8 (phase 2 of 3)',
    'definitions [============-       ] 5 of 8 (phase 2 of 3)',
    'definitions [===============-    ] 6 of 8 (phase 2 of 3)',
    'definitions [=================-  ] 7 of 8 (phase 2 of 3)',
    'workloads [                    ] 0 of 2 (phase 3 of 3)',
    'workloads [==========-         ] 1 of 2 (phase 3 of 3)',
    undefined,
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
    ['workloads [                    ] 0 of 2 (phase 2 of 2)'],
    [
      'workloads [                    ] 0 of 2 (phase 2 of 2)',
      'waiting for deployment kubenode-sync: 0 of 1 pods are ready (0s)',
    ],
    [
      'workloads [==========-         ] 1 of 2 (phase 2 of 2)',
      'waiting for deployment kubenode-sync: 0 of 1 pods are ready (5s)',
    ],
    ['workloads [==========-         ] 1 of 2 (phase 2 of 2)'],
    [],
  ])
})

test('what is said stays above the block, which is drawn again in its place', () => {
  let out = ''
  const screen = createScreen((text) => void (out += text), { isTerminal: true, foldsLongLines: true })
  const { showPhases } = liveBlock(screen, new VirtualClock())
  showPhases([{ name: 'rights', done: 0, total: 2 }])
  screen.print('definitions: 24 objects applied')
  showPhases([{ name: 'rights', done: 1, total: 2 }])
  showPhases([{ name: 'rights', done: 2, total: 2 }])
  const bar = (done: number) => phaseBar([{ name: 'rights', done, total: 2 }])
  // Each picture starts at the previous one's line.
  expect(out.replaceAll('\u001b', '^')).toBe(
    `\r${bar(0)}^[K\n^[J^[1A\rdefinitions: 24 objects applied^[K\n${bar(0)}^[K\n^[J^[1A\r${bar(1)}^[K\n^[J^[1A\r^[J`,
  )
})
