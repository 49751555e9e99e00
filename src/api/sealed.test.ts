import { describe, expect, test } from 'vitest'
import { newSealingKey, openSealed, publicKeyOf, seal } from './sealed.ts'
import { sealedKey, sealedObjectName } from './sealed-names.ts'

const own = newSealingKey()
const place = { machine: 'm-1', component: 'containerd', path: 'registry.password' }
const marker = 'a secret with ünïcode and\nlines'
const sealed = seal(own.publicKey, place, marker)

test('what was sealed to a machine opens there', () => {
  expect(openSealed(own.privateKey, place, sealed)).toEqual({ kind: 'Opened', value: marker })
  expect(publicKeyOf(own.privateKey)).toBe(own.publicKey)
  expect(seal(own.publicKey, place, marker)).not.toBe(sealed)
  expect(openSealed(own.privateKey, place, seal(own.publicKey, place, ''))).toEqual({ kind: 'Opened', value: '' })
})

describe('S16 a sealed value does not open', () => {
  const flipped = (at: number): string => {
    const [v, k, body = ''] = sealed.split('.')
    const bytes = Buffer.from(body, 'base64url')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return `${v}.${k}.${bytes.toString('base64url')}`
  }
  test.each([
    ['for another machine', { ...place, machine: 'm-2' }, sealed, /belongs to another machine/],
    ['for another component', { ...place, component: 'kubelet' }, sealed, /belongs to another machine, component/],
    ['at another place', { ...place, path: 'registry.user' }, sealed, /or path/],
    ['with another sender in it', place, flipped(0), /was changed/],
    ['with another nonce', place, flipped(33), /was changed/],
    ['with another content', place, flipped(50), /was changed/],
    [
      'with another tag',
      place,
      flipped(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').length - 1),
      /was changed/,
    ],
    [
      'when it was sealed to another key',
      place,
      seal(newSealingKey().publicKey, place, marker),
      /sealed to key [0-9a-f]{8}, but the current key is/,
    ],
    ['cut off', place, sealed.slice(0, 40), /not a sealed value/],
    ['empty', place, '', /not a sealed value/],
    ['of a newer form', place, sealed.replace('v1', 'v2'), /not a sealed value/],
  ])('%s, and the reason says nothing of it', (_what, at, text, says) => {
    const opened = openSealed(own.privateKey, at, text)
    expect(opened).toEqual({ kind: 'Refused', reason: expect.stringMatching(says) })
    expect(JSON.stringify(opened)).not.toContain('secret')
  })
})

test('names are short, whatever the machine and the path are called', () => {
  expect(sealedObjectName('containerd-1a2b', 'm'.repeat(253))).toMatch(/^containerd-1a2b\.[0-9a-f]{16}$/)
  expect(sealedKey('a b/c')).toMatch(/^[0-9a-f]{32}$/)
})
