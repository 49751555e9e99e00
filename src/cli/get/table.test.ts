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
