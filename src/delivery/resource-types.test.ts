import { expect, test } from 'vitest'
import type { RawRequest } from '#kube/client.ts'
import { ResourceTypes } from './resource-types.ts'

/** A server with as many kinds in each group. */
function serving(count: number) {
  const asked: string[] = []
  const client = {
    raw: async ({ path }: RawRequest) => {
      asked.push(path)
      const group = path.slice('/apis/'.length)
      const resources = Array.from({ length: count }, (_, n) => ({ name: `things${n}`, kind: `Thing${n}` }))
      const body = group.includes('/') ? { resources } : { preferredVersion: { groupVersion: `${group}/v1` } }
      return { status: 200, headers: {}, text: JSON.stringify(body) }
    },
  }
  return { asked, types: new ResourceTypes(client as never, () => 0) }
}

test('the kinds of a group are asked for once', async () => {
  const { asked, types } = serving(100)
  for (const kind of ['Thing0', 'Thing99', 'Thing0'])
    expect(await types.of('g.example.org/v1', kind)).toMatchObject({ plural: kind.toLowerCase().replace('g', 'gs') })
  expect(asked).toEqual(['/apis/g.example.org/v1'])
})

test('of a server with more kinds than any has, it remembers no more than some thousand', async () => {
  const { asked, types } = serving(5_000)
  for (let n = 0; n < 12; n++) expect(await types.ofGroup(`g${n}`, 'Thing999')).toBeDefined()
  expect(await types.ofGroup('g11', 'Thing1000')).toBeUndefined()
  const before = asked.length
  await types.of('g0/v1', 'Thing0')
  expect(asked.length).toBeGreaterThan(before)
  expect((await types.of('apps/v1', 'Deployment')).plural).toBe('deployments')
})
