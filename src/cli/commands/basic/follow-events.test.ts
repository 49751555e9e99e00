import { expect, test } from 'vitest'
import { widthsOf } from '#lib/terminal/rows.ts'
import { linesOf } from './follow-events.ts'

const ROWS = [
  ['LAST SEEN', 'TYPE', 'OBJECT', 'REASON', 'MESSAGE'],
  ['51s', 'Normal', 'machineset/workers', 'Creating', 'created 3 machines: 3 of 3 are missing'],
  ['47s', 'Normal', 'machinecomponentset/base', 'ComponentsIn', 'the components are installed'],
] as const

const shown = (most: number) => ROWS.map((row) => linesOf(row, widthsOf(ROWS), most)[0])

test('where the columns of events fit, each row has them', () => {
  expect(shown(70)).toEqual([
    'LAST SEEN   TYPE     OBJECT                     REASON         MESSAGE',
    '51s         Normal   machineset/workers         Creating',
    '47s         Normal   machinecomponentset/base   ComponentsIn',
  ])
})

test('where they do not fit, no row has them', () => {
  expect(shown(58)).toEqual([
    'LAST SEEN  TYPE  OBJECT  REASON',
    '51s  Normal  machineset/workers  Creating',
    '47s  Normal  machinecomponentset/base  ComponentsIn',
  ])
})
