// Creates, renews and rotates the credentials of one embedded control plane. All items are in one file next to the server's keys, written before the server
// gets them, so a host killed in any phase continues from there. Uses the same graph as every flavor.
import { createPublicKey } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { credentialsIn, type Credentials, isGiven } from '#lib/x509/server-keys.ts'
import { credentials, type CredentialGraph, type CredentialInputs } from '../credentials/graph.ts'
import type { Held } from '../credentials/held.ts'
import { carryOut } from '../credentials/make.ts'
import { ownCredentials } from '../credentials/own.ts'
import {
  ADMIN_LEAF,
  CLUSTER_AUTHORITY,
  EMBEDDED_RECIPE,
  type Recipe,
  SERVER_LEAF,
  TOKEN_KEYS,
} from '../credentials/recipe.ts'
import { heldInText } from '../credentials/secrets.ts'
import { serverCredentials, type ServerCredentials } from '../credentials/server-credentials.ts'
import type { OwnCredentials, RotationRequest } from '../port.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { embeddedErrors } from './embedded-errors.ts'

const ITEMS = 'items.json'
/** Each creates one item; a whole rotation takes about ten. */
const MOST_ORDERS = 100

/** The server's own credentials. A kubeconfig is created when a client requests one. */
export const HOST_RECIPE: Recipe = {
  ...EMBEDDED_RECIPE,
  leaves: EMBEDDED_RECIPE.leaves.filter(({ name }) => [SERVER_LEAF, ADMIN_LEAF].includes(name)),
  kubeconfigs: [],
}

export interface Asked {
  readonly recipe: Recipe
  readonly now: number
  readonly endpoint: string
  readonly hosts: readonly string[]
  /** Digest of the credentials that the server runs with; undefined while it does not run. */
  readonly running: string | undefined
  readonly rotation?: RotationRequest | undefined
}

/** The credentials the server should run with, after every step possible now; undefined if the hub provides them. */
export function keptCredentials(folder: string, asked: Asked): ServerCredentials | undefined {
  const before = heldItems(folder, asked)
  if (before === undefined) return undefined
  let held = before
  for (let made = 0; made < MOST_ORDERS; made++) {
    const { orders, serverDigest } = graphOf(held, asked)
    const [order] = orders
    if (order === undefined) {
      if (made > 0 || !existsSync(join(folder, ITEMS))) write(folder, held)
      const given = serverCredentials(held, serverDigest ?? '')
      if (given === undefined) throw new Error('the credentials of a control plane are not complete')
      return given
    }
    const item = carryOut(order, asked.now, held)
    const { [order.name]: _, ...others } = held
    held = item === undefined ? others : { ...others, [order.name]: item }
  }
  throw new Error('the credentials of a control plane never settle')
}

/** Their current state, without changes; undefined if the hub provides them, there are none yet, or they are damaged, which the next change reports. */
export function ownedBy(folder: string, asked: Asked): OwnCredentials | undefined {
  const file = join(folder, ITEMS)
  const held = existsSync(file) ? heldInText(readFileSync(file, 'utf8')) : undefined
  if (held === undefined) return undefined
  return ownCredentials(held, graphOf(held, asked))
}

/** From now on the hub provides them. */
export const forgetCredentials = (folder: string): void => rmSync(join(folder, ITEMS), { force: true })

function graphOf(held: Held, { recipe, now, endpoint, hosts, running, rotation }: Asked): CredentialGraph {
  const inputs: CredentialInputs = {
    recipe,
    endpoint,
    hosts,
    declared: rotation?.declared ?? {},
    servers: { total: 1, running: running === undefined ? [] : [running] },
    agents: rotation?.agents,
  }
  return credentials(inputs, now, held)
}

function heldItems(folder: string, { now, hosts }: Asked): Held | undefined {
  if (existsSync(join(folder, ITEMS))) return itemsIn(folder)
  if (isGiven(folder)) return undefined
  return existsSync(folder) ? adopted(credentialsIn(folder, now, hosts), now) : {}
}

function itemsIn(folder: string): Held {
  const file = join(folder, ITEMS)
  const held = heldInText(readFileSync(file, 'utf8'))
  if (held === undefined) throw new KubeNodeError(embeddedErrors.KN1091({ file }))
  return held
}

function write(folder: string, held: Held): void {
  makePrivateFolder(folder)
  writeWholeFile(join(folder, ITEMS), JSON.stringify(held))
}

/** Keeps the authority and keys of a server that created its own: nodes and tokens depend on them. Its certificates are created again. */
const adopted = ({ authority, tokenKey }: Credentials, now: number): Held => {
  const first = { number: 1, declared: 1, since: now }
  const open = createPublicKey(tokenKey).export({ type: 'spki', format: 'pem' })
  const root = { kind: 'Root', signs: 1, signsSince: now } as const
  return {
    [CLUSTER_AUTHORITY]: { ...root, generations: [{ ...first, open: authority.certificate, key: authority.key }] },
    [TOKEN_KEYS]: { ...root, generations: [{ ...first, open, key: tokenKey }] },
  }
}
