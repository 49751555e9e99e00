import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { driverOf, missingFor } from './driver.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
const bin = (...programs: readonly string[]): string => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-driver-'))
  folders.push(folder)
  for (const program of programs) {
    writeFileSync(join(folder, program), '')
    chmodSync(join(folder, program), 0o755)
  }
  return folder
}

test('processes need nothing', () => {
  expect(missingFor('process', { uid: 1000, arch: 'arm64', path: '' })).toBeUndefined()
})

test.each([
  ['it needs root', { uid: 1000, arch: 'x64' }],
  ['its components are built for amd64 and arm64, not for riscv64', { uid: 0, arch: 'riscv64' }],
])('systemd machines: %s', (why, host) => {
  expect(missingFor('nspawn', { ...host, path: '' })).toBe(why)
})

test('systemd machines: what is absent is named with its package', () => {
  const why = missingFor('nspawn', { uid: 0, arch: 'x64', path: bin('debootstrap', 'apt-get', 'apt-cache') })
  // Where this machine has them, nothing is absent.
  expect([
    undefined,
    'systemd-nspawn, systemd-socket-activate not found: apt-get install systemd-container systemd',
  ]).toContain(why)
  const all = bin('systemd-nspawn', 'systemd-socket-activate', 'debootstrap', 'apt-get', 'apt-cache')
  expect(missingFor('nspawn', { uid: 0, arch: 'x64', path: all })).toBeUndefined()
})

test('a folder keeps its driver: another one is refused, and none asks for the same', () => {
  expect(driverOf(undefined, undefined, '')).toBe('process')
  expect(driverOf(undefined, {}, '')).toBe('process')
  expect(() => driverOf('nspawn', {}, '')).toThrow(/KN1202.*nspawn.*made with process/)
  expect(() => driverOf('process', { driver: 'nspawn' }, '')).toThrow(/KN1202/)
})
