// Checks imports against package.json: a transitive package may disappear with the next version of its parent.
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, sourceFiles } from './source-files.ts'

const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as Readonly<Record<string, Readonly<Record<string, string>>>>
const declared = { ...optionalDependencies, ...devDependencies, ...dependencies }

const packageOf = (s: string): string =>
  s
    .split('/')
    .slice(0, s.startsWith('@') ? 2 : 1)
    .join('/')

/** Also a path, which programs that tests write have. */
const isNoPackage = (s: string): boolean =>
  s.startsWith('/') || s.startsWith('node:') || builtinModules.includes(packageOf(s))

test('every package that is imported is a dependency of our own', () => {
  const files = sourceFiles('src', 'fleet', 'rules', 'deploy', 'test', 'bench')
  const bare = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ specifier, file, typeOnly }) => file === undefined && !typeOnly && !isNoPackage(specifier))
      .map(({ specifier }) => ({ path, name: packageOf(specifier) })),
  )
  expect(bare.some((b) => b.name === 'rolldown')).toBe(true)
  expect(bare.filter(({ name }) => declared[name] === undefined)).toEqual([])
})

test('every version is exact', () => {
  expect(Object.entries(declared).filter(([, version]) => !/^\d+\.\d+\.\d+/.test(version))).toEqual([])
})

test('no program loads the ES module of node:http, which loads a fetch library too: 70 ms and 7 MB for each process', () => {
  const files = sourceFiles('src')
  expect(files.some(({ path }) => path === 'src/lib/node-http.ts')).toBe(true)
  const loading = files.filter(
    ({ path, imports }) =>
      !path.endsWith('.test.ts') && imports.some(({ specifier, typeOnly }) => specifier === 'node:http' && !typeOnly),
  )
  expect(loading.map(({ path }) => path)).toEqual([])
})

test('packages with cryptography are loaded where somebody signs in, signs or encrypts, not with every program', () => {
  const late = ['age-encryption', 'openid-client', 'openpgp']
  const atOnce = new RegExp(`^import (?!type )[^;']* from '(${late.join('|')})'`, 'm')
  const files = sourceFiles('src').filter(({ path }) => !path.endsWith('.test.ts'))
  const used = files.flatMap(({ imports }) => imports.map(({ specifier }) => specifier))
  expect(late.filter((name) => !used.includes(name))).toEqual([])
  const early = files.filter(({ path }) => atOnce.test(readFileSync(join(ROOT, path), 'utf8')))
  expect(early.map(({ path }) => path)).toEqual([])
})

test('every package that the lock names has a digest: npm ci on another platform installs the bytes that were reviewed', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string; readonly inBundle?: boolean }>>
  }
  const named = Object.entries(packages).filter(([path]) => path !== '')
  expect(named.length).toBeGreaterThan(100)
  // What a package bundles is inside the archive whose digest is checked.
  const without = named.filter(
    ([, { integrity, inBundle }]) => inBundle !== true && integrity?.startsWith('sha512-') !== true,
  )
  expect(without.map(([path]) => path)).toEqual([])
})

test('every package has a line on the page of dependencies, and the page names no other', () => {
  const page = readFileSync(join(ROOT, 'docs/adr/dependencies.md'), 'utf8')
  const named = [...page.matchAll(/^\| `([^`]+)` \| [^|]+ \| [^|]+ \| [^|]+ \| [^|]+ \|$/gm)].map((m) => m[1])
  expect(new Set(named)).toEqual(new Set(Object.keys(declared)))
  expect(named).toHaveLength(Object.keys(declared).length)
})

test('no package runs a script when it is installed', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>
  }
  const running = Object.entries(packages).filter(
    ([path, { hasInstallScript }]) => path !== '' && hasInstallScript === true,
  )
  expect(running.map(([path]) => path)).toEqual([])
})
