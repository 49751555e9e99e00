// Credentials whose phases wait for servers and agents alone: for no quarter of an hour, and for no year of a token.
import type { Recipe } from '#controlplanes/credentials/recipe.ts'

export const atOnce = (recipe: Recipe): Recipe => ({
  ...recipe,
  joinMs: 0,
  keySets: recipe.keySets.map((keys) => ({ ...keys, signedForMs: 0 })),
})
