import { expect, test } from 'vitest'
import { decide } from './keyboard.ts'

const key = (key: string) => ({ key, isModified: false, isTyping: false })

test('a chord opens a view, and any other key ends it', () => {
  expect(decide(undefined, key('g'))).toEqual({ pending: 'g' })
  expect(decide('g', key('p'))).toEqual({ pending: undefined, action: { do: 'go', view: 'pipeline' } })
  expect(decide('g', key('x'))).toEqual({ pending: undefined })
})

test('keys are text in a field, and with a modifier they belong to the browser', () => {
  expect(decide(undefined, { ...key('j'), isTyping: true })).toEqual({ pending: undefined })
  expect(decide('g', { ...key('p'), isModified: true })).toEqual({ pending: undefined })
  expect(decide(undefined, { ...key('Escape'), isTyping: true })).toEqual({
    pending: undefined,
    action: { do: 'close' },
  })
})

test('Escape leaves a field, and outside of one nothing', () => {
  expect(decide(undefined, key('Escape'))).toEqual({ pending: undefined })
  expect(decide('g', key('Escape'))).toEqual({ pending: undefined })
})
