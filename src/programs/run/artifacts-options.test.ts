import { expect, test } from 'vitest'
import { artifactsConfigOf } from './artifacts-options.ts'

const folder = { artifactsFolder: '/srv' }

test('a folder and the names that hosts use are enough', () => {
  expect(
    artifactsConfigOf({ ...folder, artifactsHost: 'a.example.org, 10.0.0.7', artifactsListen: '[::]:8444' }),
  ).toEqual({ folder: '/srv', host: '::', port: 8444, certificate: { hosts: ['a.example.org', '10.0.0.7'] } })
})

test('the port of a name is no part of it', () => {
  const { certificate } = artifactsConfigOf({
    ...folder,
    artifactsHost: 'a.test:30844,[fd00::1]:30844,fd00::2,10.0.0.7:1',
  })
  expect(certificate).toEqual({ hosts: ['a.test', 'fd00::1', 'fd00::2', '10.0.0.7'] })
})

test('a certificate that is given needs no names', () => {
  const { certificate } = artifactsConfigOf({ ...folder, artifactsCert: 'c', artifactsKey: 'k' })
  expect(certificate).toEqual({ cert: 'c', key: 'k' })
})

test.each([
  ['no folder', { artifactsHost: 'a' }, /KN1002.*--artifacts-folder/],
  ['no names', folder, /KN1002.*--artifacts-host/],
  ['a certificate without its key', { ...folder, artifactsCert: 'c' }, /KN1002.*belong together/],
  ['artifacts by a tag', { ...folder, artifactsHost: 'a', artifactsOci: 'r.example.org/a:1' }, /KN1002.*digest/],
  ['an address that is none', { ...folder, artifactsHost: 'a', artifactsListen: 'x' }, /KN1002/],
])('%s is refused', (_, options, wanted) => {
  expect(() => artifactsConfigOf(options)).toThrow(wanted)
})
