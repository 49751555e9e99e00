// Debian packages become the signed archives, or the reason is reported. apt is a script that answers like apt.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { provideFromDebian } from './debian.ts'

let dir = ''
let path: string | undefined
const said: string[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-debian-'))
  said.length = 0
  path = process.env['PATH']
  process.env['PATH'] = `${dir}:${path}`
})
afterEach(() => {
  process.env['PATH'] = path
  rmSync(dir, { recursive: true, force: true })
})

function apt(madison: string, download: string): void {
  for (const [name, text] of [
    ['apt-cache', madison],
    ['apt-get', download],
  ] as const) {
    writeFileSync(join(dir, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(dir, name), 0o755)
  }
}

const wanted = { component: 'runc', version: '1.1.5+a', url: 'runc/runc.tar', sha256: 'd1', size: 4 }
const provide = (sha256 = 'd1') =>
  provideFromDebian(wanted, {
    cache: join(dir, 'cache'),
    artifacts: join(dir, 'artifacts'),
    print: (line) => said.push(line),
    tools: {
      versionOf: (debian) => debian.replace('~', '+'),
      make: async (_, deb, artifacts) => {
        expect(existsSync(deb)).toBe(true)
        mkdirSync(join(artifacts, dirname(wanted.url)), { recursive: true })
        writeFileSync(join(artifacts, wanted.url), 'four')
        return { sha256 }
      },
    },
  })

const LISTED = 'echo "runc | 1.1.5~a | http://deb.example bookworm/main amd64 Packages"'
const FETCHED = 'touch runc_1.1.5~a_amd64.deb'

test('a package is fetched and packed once', async () => {
  apt(LISTED, FETCHED)
  expect(await provide()).toBe(true)
  apt('exit 1', 'exit 1')
  expect(await provide()).toBe(true)
  expect(said).toEqual(['packing runc 1.1.5+a of Debian'])
})

test('a version that Debian no longer has is said, and is no error', async () => {
  apt('echo "runc | 1.1.6 | http://deb.example bookworm/main amd64 Packages"', 'exit 1')
  expect(await provide()).toBe(false)
  expect(said).toEqual(['note: Debian no longer has runc 1.1.5+a, so no machine can install it'])
})

test.each([
  ['apt knows nothing of it', 'true', 'true', /KN1226.*apt does not know the package/],
  ['the mirror does not answer', LISTED, 'echo "E: Failed to fetch" >&2; exit 100', /KN1226.*Failed to fetch/],
])('%s: an error that says what to do', async (_, madison, download, error) => {
  apt(madison, download)
  await expect(provide()).rejects.toThrow(error)
})

test('another content than the signed one is refused', async () => {
  apt(LISTED, FETCHED)
  await expect(provide('d2')).rejects.toThrow(/KN1108/)
})
