import { describe, expect, test } from 'vitest'
import type { KubeClient } from './client.ts'
import { coreKind } from './core-kinds.ts'
import { listAll, listPages, listWanted } from './list-all.ts'
import { MOST_EMPTY_PAGES, MOST_OBJECTS } from './page-size.ts'
import { defined } from '#lib/defined.ts'

/** A server with these pages; the last ends as given. */
function server(pages: readonly (readonly string[])[], last: string | undefined) {
  const asked: (string | undefined)[] = []
  const client = {
    list: (_: object, { continue: token, limit }: { continue?: string; limit?: number }) => {
      asked.push(`${token ?? 'first'} ${limit}`)
      const at = token === undefined ? 0 : Number(token)
      const next = at + 1 < pages.length ? String(at + 1) : last
      const items = (pages[at] ?? []).map((name) => ({ metadata: { name } }))
      return Promise.resolve({ items, ...defined({ continue: next }) })
    },
  } as unknown as Pick<KubeClient, 'list'>
  return { client, asked }
}

test.each([undefined, ''])('all pages are read once, and %j as the last token ends the list', async (last) => {
  const { client, asked } = server([['a', 'b'], ['c'], []], last)
  const found = await listAll(client, coreKind('Node'))
  expect(found.map((o) => o.metadata.name)).toEqual(['a', 'b', 'c'])
  expect(asked).toEqual(['first 500', '1 500', '2 500'])
})

test('a reader that has found what it wants asks for no more pages', async () => {
  const { client, asked } = server([['a'], ['b'], ['c']], undefined)
  for await (const page of listPages(client, coreKind('Node'))) if (page.some((o) => o.metadata.name === 'b')) break
  expect(asked).toHaveLength(2)
})

test('pages without an object may follow each other for a while, but not without end', async () => {
  const { client } = server([['a'], ...Array.from({ length: MOST_EMPTY_PAGES }, () => []), ['b']], undefined)
  expect(await listAll(client, coreKind('Node'))).toHaveLength(2)
  const endless = { list: () => Promise.resolve({ items: [], continue: 'more', resourceVersion: '1' }) }
  await expect(listAll(endless, coreKind('Node'))).rejects.toThrow(
    'KN2005: cannot list nodes: the server has sent 100 pages',
  )
})

describe('a server that sends the same objects in page after page', () => {
  const items = Array.from({ length: 500 }, (_, n) => ({ metadata: { name: `n-${n}` } }))
  const endless = { list: () => Promise.resolve({ items, continue: 'more', resourceVersion: '1' }) }
  const client = endless as unknown as KubeClient

  test('is given up after a million', async () => {
    let pages = 0
    const read = listWanted(client, coreKind('Node'), {}, () => (pages++, []))
    await expect(read).rejects.toThrow('KN2005: cannot list nodes: the server has sent more than 1000000 objects')
    expect(pages).toBe(MOST_OBJECTS + items.length)
  })

  test('fills no memory with what is wanted of them', async () => {
    const bounded = Object.assign(Object.create(client), { mostListed: 10_000 }) as KubeClient
    let kept = 0
    const read = listWanted(bounded, coreKind('Node'), {}, (node) => (kept++, [node]))
    await expect(read).rejects.toThrow('KN2005: cannot list nodes: all of them have more than 10000 characters')
    expect(kept).toBeLessThanOrEqual(items.length)
  })
})
