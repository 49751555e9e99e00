// What nodes use, by what the metrics API answers: percent of what pods can have, or the reason why it is unknown.
import { expect, test } from 'vitest'
import { MOST_LOADS } from '../load.ts'
import { loadAnswer } from './load-answer.ts'
import { GIB } from '#lib/bytes.ts'

type Answer = { readonly status: number; readonly text: string } | 'Hangs'

const used = (cpu: string, memory: string): Answer => ({
  status: 200,
  text: JSON.stringify({ usage: { cpu, memory } }),
})
const status = (code: number, details?: object): Answer => ({ status: code, text: JSON.stringify({ details }) })
const UNMEASURED = status(404, { group: 'metrics.k8s.io', kind: 'nodes' })

/** Machine m-1 is node n-1; m-9 has no node, and the user may not read the node of m-8. */
const cluster = {
  machine: (name: string) =>
    name === 'm-9' ? undefined : ({ metadata: { name }, node: name.replace('m', 'n') } as never),
  node: (name: string) => (name === 'n-8' ? undefined : ({ allocatable: { cpu: 4, memory: 8 * GIB } } as never)),
}

async function asked(answers: Readonly<Record<string, Answer>>, machines: readonly string[]) {
  const paths: string[] = []
  const raw = ({ path }: { readonly path: string }) => {
    paths.push(path)
    const answer = answers[path.split('/').at(-1) ?? ''] ?? UNMEASURED
    return answer === 'Hangs' ? Promise.reject(new Error('late')) : Promise.resolve(answer)
  }
  const { loads, unknown } = await loadAnswer({ client: { raw } as never, cluster, machines, now: 1 })
  return { loads: loads.map(({ machine, cpu, memory }) => `${machine} ${cpu} ${memory}`), unknown, paths }
}

test('shares are of what pods can have; a node that is not measured, and a machine without one, are left out', async () => {
  const { loads, unknown, paths } = await asked(
    { 'n-1': used('1200m', '6Gi'), 'n-2': used('4200m', '100Mi'), 'n-3': UNMEASURED, 'n-4': used('many', '1') },
    ['m-1', 'm-2', 'm-3', 'm-4', 'm-8', 'm-9'],
  )
  expect(loads).toEqual(['m-1 30 75', 'm-2 105 1'])
  expect(unknown).toBeUndefined()
  expect(paths).toHaveLength(4)
})

test.each<[string, Answer, string]>([
  [
    'a cluster without metrics',
    { status: 404, text: '404 page not found' },
    'the cluster does not serve metrics.k8s.io',
  ],
  ['a user without the right', status(403), 'you may not read nodes of metrics.k8s.io'],
  ['metrics that are away', status(503), 'the metrics API does not answer'],
  ['metrics that hang', 'Hangs', 'the metrics API does not answer'],
])('%s is asked once, and says so', async (_, answer, unknown) => {
  const names = Array.from({ length: 20 }, (_, i) => `m-${i + 10}`)
  const found = await asked(Object.fromEntries(names.map((n) => [n.replace('m', 'n'), answer])), names)
  expect([found.loads, found.unknown, found.paths.length]).toEqual([[], unknown, 1])
})

test('machines of which no node may be read are unknown, and more than a page shows are refused', async () => {
  expect(await asked({}, ['m-8', 'm-9'])).toMatchObject({ paths: [], unknown: expect.stringContaining('no') as string })
  const many = Array.from({ length: MOST_LOADS + 1 }, (_, i) => `m-${i}`)
  await expect(asked({}, many)).rejects.toThrow('name 1 to 60 machines')
  await expect(asked({}, [])).rejects.toThrow('name 1 to 60 machines')
})
