// One cause as one card: what happened, what it stops, since when, who committed it; one action in front, the others behind it.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { AttentionRow } from '../../topics.ts'
import { to } from '../router.ts'
import type { Cause, Way } from './causes.ts'
import { waysOf } from './causes.ts'
import { Since } from './clock.ts'
import { CopyButton } from './copy.ts'
import { Mark } from './mark.ts'
import type { Tone } from './mark.ts'
import { nounOf } from './noun.ts'
import { Terminal } from './terminal.ts'
import { hrefOfObject, inCluster, shortCommit } from './wait.ts'

const TONES: Readonly<Record<AttentionRow['weight'], Tone>> = { Act: 'bad', Wait: 'wait', Unknown: 'still' }

/** More clusters are a number. */
const MOST_CLUSTERS = 4

export function CauseCard({ cause }: { readonly cause: Cause }): VNode {
  const { route } = useApp()
  const { first, clusters, since } = cause
  const { title, text, object, commit, stops = [], runbook } = first
  const where = clusters.length > MOST_CLUSTERS ? `${clusters.length} clusters` : clusters.join(', ')
  return h(
    'li',
    { class: `cause ${TONES[first.weight]}` },
    h(
      'div',
      { class: 'cause-head' },
      h(
        'div',
        { class: 'cause-words' },
        h('a', { href: hrefOfObject(route, object), 'data-row': '', class: 'name cause-title' }, title ?? text),
        commit !== undefined && h(CommitLine, { commit }),
      ),
      h(
        'span',
        { class: 'row small soft' },
        h(Mark, { phase: where, tone: TONES[first.weight] }),
        h(Since, { at: since }),
      ),
    ),
    stops.length > 0 && h(Stops, { stops }),
    h(Actions, { cause }),
    runbook !== undefined && h('p', { class: 'small soft' }, 'More: ', h('code', {}, runbook)),
    h(More, { cause }),
  )
}

/** What most people do not need: the other ways out, the whole text, and what the same cause reached. */
function More({ cause: { first, others } }: { readonly cause: Cause }): VNode | null {
  const { route } = useApp()
  const { title, text, object } = first
  const ways = waysInCluster(first).slice(1)
  if (title === undefined && others.length + ways.length === 0) return null
  return h(
    'details',
    { class: 'cause-more small' },
    h('summary', {}, 'More'),
    h(
      'div',
      { class: 'stack' },
      title !== undefined && h('p', { class: 'name' }, text),
      others.map((row) =>
        h(
          'p',
          { key: row.id, class: 'name' },
          h('a', { href: hrefOfObject(route, row.object) }, `${nounOf(row.object.kind)} ${row.object.name}`),
          row.object.cluster === object.cluster ? ': ' : ` in ${row.object.cluster}: `,
          row.text,
        ),
      ),
      ways.map((way) =>
        h(
          'div',
          { key: way.text, class: 'cause-way' },
          h('p', {}, `To ${way.does ?? ''}:`),
          h(Terminal, { command: way.text }),
        ),
      ),
    ),
  )
}

const waysInCluster = ({ lift, object }: AttentionRow): readonly Way[] =>
  lift === undefined ? [] : waysOf(lift).map((way) => ({ ...way, text: inCluster(way, object.cluster) }))

function CommitLine({ commit }: { readonly commit: NonNullable<AttentionRow['commit']> }): VNode {
  const { route } = useApp()
  return h(
    'span',
    { class: 'row small soft' },
    h('a', { href: to(route, 'commits', { name: commit.commit }), class: 'mono' }, shortCommit(commit.commit)),
    commit.subject !== undefined && h('span', { class: 'name' }, `“${commit.subject}”`),
    commit.author !== undefined && h('span', {}, `by ${commit.author}`),
  )
}

const Stops = ({ stops }: { readonly stops: readonly string[] }): VNode =>
  h(
    'div',
    { class: 'stops small' },
    h('span', { class: 'soft' }, 'Stops'),
    h(
      'ol',
      { class: 'stops-chain' },
      stops.map((text) => h('li', { key: text }, text)),
    ),
  )

/** `git revert` is what undoes the commit; a user recognizes the word before the command. */
const buttonName = ({ text }: Way): string => (text.startsWith('git revert') ? 'Copy the revert' : 'Copy the command')

function Actions({ cause: { first } }: { readonly cause: Cause }): VNode | null {
  const [way] = waysInCluster(first)
  if (way === undefined) return null
  if (!way.isCommand) return h('p', { class: 'small soft' }, `Continues when: ${way.text}`)
  return h(
    'div',
    { class: 'cause-actions' },
    h(CopyButton, { text: way.text, name: buttonName(way), isMain: first.weight === 'Act' }),
    h('code', { class: 'soft small name' }, way.text),
  )
}
