import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'
import { LOCK_FILE, addressOf, archivesOf, readDebianLock } from './debian-lock.ts'

test('the lock names packages by path and digest, and no server', () => {
  const { packages } = readDebianLock(releaseRoot())
  expect(packages.amd64.length).toBeGreaterThan(10)
  expect(packages.arm64.map((p) => p.name)).toEqual(packages.amd64.map((p) => p.name))
  expect(readFileSync(join(releaseRoot(), LOCK_FILE), 'utf8')).not.toContain('://')
})

test('a mirror is named with or without a slash at its end', () => {
  const path = 'debian-security/pool/updates/main/g/git/git_1%2b2_amd64.deb'
  const address = `https://mirror.example/linux/${path}`
  const on = (mirror: string) => addressOf(archivesOf(mirror), { path })
  expect([on('https://mirror.example/linux'), on('https://mirror.example/linux/')]).toEqual([address, address])
})
