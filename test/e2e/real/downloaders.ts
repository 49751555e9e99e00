// What a bare host downloads with: curl and wget of Debian, unpacked into the root of a machine that has neither.
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { unpackedDeb } from '../agent-host/debs.ts'

/** With the libraries that a minimal Debian lacks. */
const PACKAGES = [
  'curl',
  'libcurl4',
  'libnghttp2-14',
  'librtmp1',
  'libssh2-1',
  'libpsl5',
  'libbrotli1',
  'libldap-2.5-0',
  'libsasl2-2',
  'libsasl2-modules-db',
  'wget',
  'libpcre2-8-0',
  'libgssapi-krb5-2',
  'libkrb5-3',
  'libkrb5support0',
  'libk5crypto3',
  'libkeyutils1',
] as const

/** False where Debian's packages cannot be fetched. */
export const addDownloaders = (root: string): boolean => addPackages(root, PACKAGES)

export function addPackages(root: string, packages: readonly string[]): boolean {
  const folders = packages.map((name) => unpackedDeb('bookworm', name))
  if (folders.includes(undefined)) return false
  for (const folder of folders)
    for (const [from, to] of [
      ['usr', 'usr'],
      ['lib', 'usr/lib'],
      ['etc', 'etc'],
    ] as const)
      if (existsSync(join(folder ?? '', from)))
        execFileSync('cp', ['-a', `${join(folder ?? '', from)}/.`, join(root, to)])
  return true
}

export const removeProgram = (root: string, name: 'curl' | 'wget'): void => rmSync(join(root, 'usr/bin', name))
