import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { programsFor } from './real.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-assets-'))
  for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager'])
    writeFileSync(join(folder, name), '', { mode: 0o755 })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a fleet has embedded control planes unless it is asked for others, also where their programs are at hand', () => {
  expect(programsFor(false, undefined, folder)).toBeUndefined()
  expect(programsFor(false, {}, folder)).toBeUndefined()
})

test('a new fleet gets the programs it asks for, and keeps them without being asked again', () => {
  expect(programsFor(true, undefined, folder)).toBe(folder)
  expect(programsFor(true, { controlPlanes: 'programs' }, folder)).toBe(folder)
  expect(programsFor(false, { controlPlanes: 'programs' }, folder)).toBe(folder)
})

test('a fleet that was made with the embedded server does not change', () => {
  expect(() => programsFor(true, {}, folder)).toThrow(/KN1202.*--reset/)
})

test('programs that are not there are named before anything starts', () => {
  expect(() => programsFor(true, undefined, undefined)).toThrow(/KN1097.*KUBEBUILDER_ASSETS is not set/)
  expect(() => programsFor(false, { controlPlanes: 'programs' }, '')).toThrow(/KN1097/)
  rmSync(join(folder, 'kube-apiserver'))
  expect(() => programsFor(true, undefined, folder)).toThrow(/KN1097.*no executable kube-apiserver in/)
  chmodSync(join(folder, 'etcd'), 0o644)
  expect(() => programsFor(true, undefined, folder)).toThrow(/KN1097.*no executable etcd, kube-apiserver in/)
})
