// Provokes a fault on one node of the local fleet, or undoes it. Signals only processes that the node's own files name with their start time.
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseConfig } from '#api/agent-config/agent-config.ts'
import { livingStat, type ProcessId } from '#agent/supervise/proc.ts'
import { parseProcess } from '#agent/supervise/process-file.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type NodeLayout, nodeLayout } from '#providers/process/layout.ts'
import { dataFolder } from '../data-folder.ts'
import { clusterFolders, type ClusterLayout, layoutOf, readState } from '../layout.ts'
import { localErrors } from '../local-errors.ts'
import { isLocked } from '../lock.ts'
import { ownFleetFolder } from '../own-fleet.ts'
import { breakMachine } from './break-machine.ts'
import { emptyDisk, endClock, fillDisk, setClock } from './disk-and-clock.ts'
import { FACTS, type Fault, PARTS, type PartFault } from './faults.ts'
import { MACHINE_SCRIPTS } from './machine-faults.ts'

export interface BreakAsked {
  readonly data?: string
  readonly undo?: boolean
  /** The component that hangs; the first one of the node when left out. */
  readonly component?: string
}

export async function breakNode(fault: Fault, node: string, asked: BreakAsked, io: Io): Promise<void> {
  const data = dataFolder(asked.data, ownFleetFolder(io.cwd, releaseRoot()), io.cwd)
  const layout = layoutOf(data)
  // A folder of another user is an error of its own.
  if (statSync(layout.state, { throwIfNoEntry: false }) === undefined)
    throw new KubeNodeError(localErrors.KN1215({ data }))
  if (!isLocked(layout)) throw new KubeNodeError(localErrors.KN1234_stopped({ folder: data }))
  const isMachine = readState(layout)?.driver === 'nspawn'
  if (isMachine && asked.component !== undefined)
    throw new KubeNodeError(localErrors.KN1234({ fault, why: 'the components of systemd machines cannot be named' }))
  const { nodes: folder, adminKubeconfig } = clusterOf(
    node,
    clusterFolders(layout).map((cluster) => layout.cluster(cluster)),
  )
  const isUndo = asked.undo ?? false
  const done = isMachine
    ? await breakMachine(fault, { folder, name: node }, isUndo)
    : (isUndo ? undo : provoke)(fault, nodeLayout(folder, node), asked)
  io.out(`${done}\n`)
  if (isUndo) return
  const facts = isMachine ? MACHINE_SCRIPTS[fault] : FACTS[fault]
  io.out(`then:  ${facts.effect}\n`)
  io.out(`watch: ${facts.watch(node)} --kubeconfig ${shellWord(adminKubeconfig)}\n`)
  io.out(`end:   ${facts.ends}\n`)
}

/** The one of `clusters` that has the node. */
function clusterOf(node: string, clusters: readonly ClusterLayout[]): ClusterLayout {
  const known = clusters.flatMap((cluster) =>
    existsSync(cluster.nodes) ? readdirSync(cluster.nodes).map((name) => ({ name, cluster })) : [],
  )
  const found = known.find(({ name }) => name === node)
  if (found !== undefined) return found.cluster
  const names = known.map(({ name }) => name)
  const meant = didYouMean(node, names)
  throw new KubeNodeError(
    localErrors.KN1234_node({
      node,
      known: meant === undefined ? `; known: ${names.join(', ') || 'none'}` : ` (did you mean ${meant}?)`,
    }),
  )
}

export function provoke(fault: Fault, node: NodeLayout, asked: BreakAsked): string {
  if (fault === 'kernel-log') return writeLine(node)
  if (fault === 'disk') return fillDisk(node)
  if (fault === 'clock') return setClock(node)
  if (PARTS[fault] !== undefined) return playPart(PARTS[fault], 'broken', node)
  const { what, id } = targetOf(fault, node, asked)
  process.kill(id.pid, 'SIGSTOP')
  return `${what} (pid ${id.pid}) is frozen (SIGSTOP)`
}

export function undo(fault: Fault, node: NodeLayout, asked: BreakAsked): string {
  if (fault === 'kernel-log') return 'nothing to undo: the line stays in the log, and its condition ends by itself'
  if (fault === 'disk') return emptyDisk(node)
  if (fault === 'clock') return endClock(node)
  if (PARTS[fault] !== undefined) return playPart(PARTS[fault], 'well', node)
  const { what, id } = targetOf(fault, node, asked)
  process.kill(id.pid, 'SIGCONT')
  return `${what} (pid ${id.pid}) is continued`
}

function targetOf(fault: Fault, node: NodeLayout, { component }: BreakAsked) {
  if (fault === 'network') return { what: 'the agent', id: living('the agent', agentOf(node)) }
  const folder = join(node.state, 'components')
  const running = (existsSync(folder) ? readdirSync(folder) : []).flatMap((name) => {
    const file = join(folder, name, 'process.json')
    const known = existsSync(file) ? parseProcess(readFileSync(file)) : undefined
    return known === undefined ? [] : [{ name, id: known.id }]
  })
  const chosen = component === undefined ? running.at(-1) : running.find(({ name }) => name === component)
  if (chosen === undefined)
    throw new KubeNodeError(
      localErrors.KN1234_component({ names: running.map(({ name }) => name).join(', ') || 'none' }),
    )
  return { what: `component ${chosen.name}`, id: living(`component ${chosen.name}`, chosen.id) }
}

/** "4711 d8db9019-114f-433c-8fc9-d91d087b7994/1314229": pid, boot and start time. */
function agentOf(node: NodeLayout): ProcessId | undefined {
  const text = existsSync(node.pid) ? readFileSync(node.pid, 'utf8') : ''
  const [, pid, startTime] = /^(\d+) [^/]*\/(\d+)\s*$/.exec(text) ?? []
  return pid === undefined || startTime === undefined ? undefined : { pid: Number(pid), startTime }
}

function living(what: string, id: ProcessId | undefined): ProcessId {
  if (id === undefined || livingStat(id) === undefined) throw new KubeNodeError(localErrors.KN1234_ended({ what }))
  return id
}

function playPart({ what, constant, counter }: PartFault, state: 'well' | 'broken', { sys }: NodeLayout): string {
  for (const [file, text] of [...Object.entries(constant), [counter.file, counter[state]] as const]) {
    mkdirSync(dirname(join(sys, file)), { recursive: true })
    writeFileSync(join(sys, file), `${text}\n`)
  }
  return state === 'broken' ? `${what}: ${join(sys, counter.file)}` : `no longer: ${what}`
}

/** Only a pattern without special characters is a line that it matches. */
const PLAIN = /^[\w :,'/-]+$/

function writeLine(node: NodeLayout): string {
  const text = existsSync(node.agentConfig) ? readFileSync(node.agentConfig, 'utf8') : '{}'
  const rules = parseConfig(text).config.logs.flatMap(({ path, rules: all }) =>
    all.map(({ condition, pattern }) => ({ path, condition, line: pattern.pattern })),
  )
  const rule = rules.find(({ line }) => PLAIN.test(line))
  if (rule === undefined) throw new KubeNodeError(localErrors.KN1234_noLine({ file: node.agentConfig }))
  const file = join(node.root, rule.path)
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, `${rule.line} (provoked by kubenode local break)\n`)
  return `a line for condition ${rule.condition} is in ${file}`
}
