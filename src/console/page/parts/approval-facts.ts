// What a user reads before they approve: what happens, how risky it is, who approved, who is missing, and what the approval covers.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import type { ApprovalEffect, ApprovingAnswer, AskedApprovals, GivenApproval } from '../../approving.ts'
import { useApp } from '../app.ts'
import type { Loaded } from '../live/store.ts'
import { to } from '../router.ts'
import { Since, Until } from './clock.ts'
import { Loading, sentence } from './states.ts'
import { count } from './time.ts'

interface Props {
  readonly loaded: Loaded<ApprovingAnswer>
  readonly readAgain: () => void
}

export function ApprovalFacts({ loaded, readAgain }: Props): VNode {
  const { route } = useApp()
  if (loaded.state === 'Loading') return h(Loading, {})
  if (loaded.state !== 'Ready')
    return h(
      'div',
      { class: 'stack' },
      h('p', { class: 'error', role: 'alert' }, sentence(loaded.message)),
      h('button', { type: 'button', onClick: readAgain }, 'Read again'),
    )
  const { effects, waits, risk, given, moreGiven, asks, scope, commit } = loaded.value
  return h(
    'div',
    { class: 'facts' },
    h(
      Part,
      { title: 'What happens' },
      h('ul', {}, effects.map(effectItem)),
      // In a tab of its own: what was typed below stays.
      commit !== undefined &&
        h(
          'p',
          {},
          h('a', { href: to(route, 'plan', { name: commit }), target: '_blank', rel: 'noopener' }, 'Read the plan'),
          ' of the commit: what it changes and deletes, and which limits it loosens.',
        ),
    ),
    waits.length > 0 && h(Part, { title: 'What it still waits for after that' }, plainList(waits)),
    h(Part, { title: `Risk: ${risk.level?.toLowerCase() ?? 'not rated'}` }, plainList(risk.why)),
    h(
      Part,
      { title: 'Approvals' },
      asks.length > 0 && h('ul', {}, asks.map(askItem)),
      given === undefined
        ? h('p', {}, 'You may not list approvals, so who approved already is not known.')
        : given.length === 0
          ? h('p', {}, 'No approval of this was given yet.')
          : h('ul', { 'aria-label': 'Given approvals' }, given.map(givenItem)),
      moreGiven > 0 && h('p', { class: 'soft' }, `${count(moreGiven)} earlier approvals are not shown.`),
    ),
    h(Part, { title: 'How long and for what' }, h('p', {}, 'It counts until the end below. ', scope)),
  )
}

const Part = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }): VNode =>
  h('section', {}, h('h3', {}, title), children)

const plainList = (texts: readonly string[]): VNode =>
  h(
    'ul',
    {},
    texts.map((text, i) => h('li', { key: i }, text)),
  )

/** More are behind one press: the reason and the buttons stay near. */
const SHOWN = 8

function effectItem({ text, on, moreOn }: ApprovalEffect): VNode {
  const rest = on.length - SHOWN + moreOn
  return h(
    'li',
    { key: text },
    text,
    on.length > 0 && plainList(on.slice(0, SHOWN)),
    on.length > SHOWN &&
      h(
        'details',
        {},
        h('summary', {}, `${count(rest)} more`),
        plainList(on.slice(SHOWN)),
        moreOn > 0 && h('p', { class: 'soft' }, `${count(moreOn)} are not listed.`),
      ),
  )
}

const approvals = (n: number): string => `${count(n)} ${n === 1 ? 'approval' : 'approvals'}`

function askItem({ name, from, needed = 0, missing, isYours, unknown, until }: AskedApprovals): VNode {
  const state =
    unknown !== undefined
      ? `not known: ${unknown}`
      : missing === undefined
        ? `needs ${approvals(needed)} from ${from ?? ''}`
        : `${count(missing)} of ${approvals(needed)} missing, from ${from ?? ''}`
  return h(
    'li',
    { key: name },
    h('strong', {}, name),
    `: ${state}`,
    isYours === true && '; yours counts',
    isYours === false && '; yours adds none',
    until !== undefined && ['; it fails ', h(Until, { key: 'until', at: until }), ' if they are missing'],
  )
}

const STATES: Readonly<Record<GivenApproval['state'], string>> = {
  Counts: 'approved',
  Expired: 'approved, but it expired,',
  OfNoUse: 'approved, but is not asked,',
}

const givenItem = ({ name, by, at, until, reason, state }: GivenApproval): VNode =>
  h(
    'li',
    { key: name },
    h('strong', {}, by),
    ` ${STATES[state]} `,
    h(Since, { at }),
    state === 'Counts' && until !== undefined && [', ends ', h(Until, { key: 'until', at: until })],
    reason !== undefined && `: ${reason}`,
  )
