/** The scenarios of --what-if. */
export const WHAT_IFS = [
  'undisturbed',
  'bad-rollout',
  'zone-loss',
  'api-loss',
  'not-ready',
  'spot-reclaim',
  'provider-throttled',
] as const
export type WhatIf = (typeof WHAT_IFS)[number]
