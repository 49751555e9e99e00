import { expect, test } from 'vitest'
import { keepOnly } from './allowed.ts'

test('what is not listed is removed, whatever it is called and whether it can be seen', () => {
  const hidden = Symbol('hidden')
  const target = { kept: 1, 'a newer Node': 2, [hidden]: 3 }
  Object.defineProperty(target, 'quiet', { value: 4, enumerable: false, configurable: true })
  keepOnly(target, new Set(['kept']))
  expect(Reflect.ownKeys(target)).toEqual(['kept'])
})

test('what cannot be removed ends the render', () => {
  const target = Object.defineProperty({}, 'fixed', { value: 1, configurable: false })
  expect(() => keepOnly(target, new Set())).toThrow('the cage cannot remove fixed')
})
