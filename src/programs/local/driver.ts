// How machines of a local fleet run: as processes of this user, or as systemd machines with real node components, which need root and Debian's tools.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { localErrors } from './local-errors.ts'

export const DRIVERS = ['process', 'nspawn'] as const
export type Driver = (typeof DRIVERS)[number]

/** Nodes per cluster, unless --nodes is given. */
export const MACHINES_MADE = 2

/** Program → Debian package. */
const TOOLS: Readonly<Record<string, string>> = {
  'systemd-nspawn': 'systemd-container',
  'systemd-socket-activate': 'systemd',
  debootstrap: 'debootstrap',
  'apt-get': 'apt',
  'apt-cache': 'apt',
}

interface Host {
  readonly uid: number | undefined
  readonly arch: string
  /** The variable PATH. */
  readonly path: string
}

/** Of the packages in fleet/components, as Node.js calls them. */
const PROCESSORS: readonly string[] = ['x64', 'arm64']

/** Why the driver cannot run here; undefined if it can. */
export function missingFor(driver: Driver, { uid, arch, path }: Host): string | undefined {
  if (driver === 'process') return undefined
  if (uid !== 0) return 'it needs root'
  if (!PROCESSORS.includes(arch)) return `its components are built for amd64 and arm64, not for ${arch}`
  const folders = [...path.split(delimiter), '/usr/sbin', '/sbin']
  const absent = Object.keys(TOOLS).filter((tool) => !folders.some((f) => isProgram(join(f, tool))))
  if (absent.length === 0) return undefined
  const packages = [...new Set(absent.map((tool) => TOOLS[tool]))].join(' ')
  return `${absent.join(', ')} not found: apt-get install ${packages}`
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A folder used before keeps its driver: the other driver does not know its machines. */
export function driverOf(
  asked: Driver | undefined,
  before: { readonly driver?: Driver } | undefined,
  path: string,
): Driver {
  const known = before === undefined ? undefined : (before.driver ?? 'process')
  if (asked !== undefined && known !== undefined && asked !== known)
    throw new KubeNodeError(localErrors.KN1202_driver({ known, asked }))
  const driver = asked ?? known ?? 'process'
  const why = missingFor(driver, { uid: process.getuid?.(), arch: process.arch, path })
  if (why !== undefined) throw new KubeNodeError(localErrors.KN1224({ driver, why }))
  return driver
}
