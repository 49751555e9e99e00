import { expect, test } from 'vitest'
import { tableAt } from './table.ts'

const SHAPE = { isWide: false, showsNamespace: false, showsLabels: false, labelColumns: [], prefix: '' }
const TABLE = { kind: 'Table', columnDefinitions: [{ name: 'Name' }], rows: [{ cells: ['m-1'] }] }
const BUSY = { status: 429, headers: {}, text: JSON.stringify({ message: 'storage is (re)initializing' }) }

const client = (busy: number) => {
  let asked = 0
  return {
    raw: async () => (asked++ < busy ? BUSY : { status: 200, headers: {}, text: JSON.stringify(TABLE) }),
    asked: () => asked,
  }
}
const clock = { sleep: async () => undefined }

test('a server that serves a kind since a moment ago is asked again', async () => {
  expect((await tableAt(client(3), '/x', SHAPE, clock))?.rows).toEqual([['m-1']])
})

test('one that stays busy is reported after some tries', async () => {
  const busy = client(1_000)
  await expect(tableAt(busy, '/x', SHAPE, clock)).rejects.toThrow('(re)initializing')
  expect(busy.asked()).toBe(10)
})

test('a client whose identity was not accepted is reported so, beside the missing right', async () => {
  const message = 'machines is forbidden: User "system:anonymous" cannot list resource "machines"'
  const raw = async () => ({ status: 403, headers: {}, text: JSON.stringify({ message }) })
  await expect(tableAt({ raw }, '/x', SHAPE, clock)).rejects.toThrow(
    `${message} (it accepted no token or client certificate of yours)`,
  )
})
