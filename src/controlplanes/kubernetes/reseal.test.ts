// Rewrites every Secret without reading it, page by page, and lists what the server refuses.
import { expect, test } from 'vitest'
import { ApiError, failure } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { sealAgain } from './reseal.ts'

const refusal = (code: number, message: string) =>
  new ApiError(failure(code, message), { action: 'patch', target: 'secrets/x' })

function server(pages: readonly (readonly string[])[], answers: Readonly<Record<string, ApiError>> = {}) {
  const patched: string[] = []
  const asked: string[] = []
  return {
    patched,
    asked,
    raw: async ({ path, headers }: { readonly path: string; readonly headers?: Readonly<Record<string, string>> }) => {
      asked.push(headers?.['accept'] ?? '')
      const page = Number(new URL(path, 'https://x').searchParams.get('continue') ?? 0)
      const items = pages[page]?.map((name) => ({ metadata: { namespace: 'a', name } })) ?? null
      const more = page + 1 < pages.length ? { continue: String(page + 1) } : {}
      return {
        status: 200,
        headers: {},
        text: JSON.stringify({ kind: 'PartialObjectMetadataList', items, metadata: more }),
      }
    },
    patch: async <T extends KubeObject>(
      _: unknown,
      { name }: { readonly name: string },
      patch: unknown,
    ): Promise<T> => {
      expect(patch).toEqual({ type: 'merge', value: {} })
      const answer = answers[name]
      if (answer !== undefined) throw answer
      patched.push(name)
      return {} as T
    },
  }
}

test('all pages, by their names alone', async () => {
  const of = server([['one', 'two'], ['three'], []])
  expect(await sealAgain(of)).toEqual({ failed: [] })
  expect(of.patched.toSorted()).toEqual(['one', 'three', 'two'])
  expect(of.asked.every((accept) => accept.includes('as=PartialObjectMetadataList'))).toBe(true)
})

test('a server without Secrets answers with no items', async () => {
  expect(await sealAgain(server([]))).toEqual({ failed: [] })
})

test('what was deleted or written by another client meanwhile is done, and what is refused is named', async () => {
  const of = server([['gone', 'written', 'refused', 'fine']], {
    gone: refusal(404, 'not found'),
    written: refusal(409, 'modified'),
    refused: refusal(403, 'a policy refuses it'),
  })
  const { failed, why } = await sealAgain(of)
  expect([failed, of.patched]).toEqual([['a/refused'], ['fine']])
  expect(why).toContain('a policy refuses it')
})

test('names that cannot be read are never taken for none', async () => {
  const refused = { ...server([]), raw: async () => ({ status: 500, headers: {}, text: '{}' }) }
  await expect(sealAgain(refused)).rejects.toThrow('cannot be read')
  const odd = { ...server([]), raw: async () => ({ status: 200, headers: {}, text: '{"kind":"Status"}' }) }
  await expect(sealAgain(odd)).rejects.toThrow('no list')
})

test('pages without end are given up', async () => {
  let asked = 0
  const text = JSON.stringify({ kind: 'PartialObjectMetadataList', items: null, metadata: { continue: 'more' } })
  const endless = { ...server([]), raw: async () => ({ status: 200, headers: {}, text: (asked++, text) }) }
  await expect(sealAgain(endless)).rejects.toThrow('secrets')
  expect(asked).toBeLessThan(200)
})
