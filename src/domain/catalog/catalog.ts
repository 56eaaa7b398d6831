import type { JsonObject, JsonValue } from '../json.ts';
import type { ParameterValue } from './parameter-value.ts';
import type { RequestCondition } from './request-condition.ts';
import type { LongInputPrices, TokenPrices } from './token-prices.ts';
import type { UpstreamCost } from './upstream-cost.ts';

/** A public catalog entry, exactly in the shape of the specification (§2.1–2.3). */
export interface Model {
  id: string;
  object: 'model';
  type: 'image' | 'video' | 'chat';
  owned_by: string;
  display_name: string;
  group: string;
  capability: string;
  description: string | null;
  status: string;
  pricing: Pricing;
  parameters: Parameters;
  catalogVisible?: boolean;
}

/** The prices of a model: the five members of the specification (§2.2), and for a chat model those of further classes of tokens. */
export interface Pricing extends TokenPrices {
  unit: 'request' | 'tokens';
  credits_per_request: number;
  min_credits_per_request: number;
  /** The prices of requests with a long input. They count for all tokens of such a request. */
  long_input?: LongInputPrices;
}

/** The price of the media requests that meet all of its conditions. Of the rules that match, one with the most conditions decides. */
export interface PricingRule {
  match: {
    key: 'img_size' | 'duration';
    value: string | number;
    /** Further conditions: parameters with a value, and inputs with true (given) or false (not given). */
    all?: { key: string; value: ParameterValue }[];
  };
  credits: number;
}

export interface FieldDescriptor {
  key: string;
  label: string;
  type: 'enum' | 'number' | 'boolean';
  options?: (string | number)[];
  min?: number;
  max?: number;
  step?: number;
  default?: string | number | boolean;
  description?: string;
}

/** The flags, allowed-value arrays, rules, descriptors and examples of §2.3, and a vendor's variant list under its own name. */
export interface Parameters {
  prompt?: boolean;
  image?: boolean;
  video_url?: boolean;
  audio_url?: boolean;
  reference_images?: boolean;
  negative_prompt?: boolean;
  messages?: boolean;
  stream?: boolean;
  temperature?: boolean;
  max_tokens?: boolean;
  variants?: boolean;
  generate_audio?: boolean;
  img_size?: string[];
  aspect_ratio?: string[];
  duration?: number[];
  resolution?: string[];
  pricingRules?: PricingRule[];
  fields?: FieldDescriptor[];
  examples?: { label: string; values: JsonObject }[];
  /** The vendor's variant list (named by `ModelPrivate.variant_field`). */
  [vendorVariantList: string]: unknown;
}

/** One parameter of ours under the provider's name. */
export interface FieldMapping {
  name: string;
  /** Translates single values: the keys are our values as strings. A value that becomes `null` is not sent. */
  values?: Record<string, JsonValue>;
}

/** How a model is requested from one adapter family: the family's name of it, the mapping of our parameters, and the cost. */
export interface UpstreamMapping {
  model: string;
  /** For providers that sell a variant as a separate model: the parameter that decides, and the model names by its value. */
  model_by?: { key: string; values: Record<string, string> };
  /**
   * For providers with a separate endpoint per kind of input: the suffix of the model's name, by the input that is given
   * (`none` for a prompt alone). If several inputs are given, the first of these decides: video_url, reference_images, image.
   */
  path_by_input?: Partial<Record<'video_url' | 'reference_images' | 'image' | 'none', string>>;
  /** What the provider charges. */
  cost: UpstreamCost;
  /** Where the mapping and its cost were checked, and on which day (YYYY-MM-DD). */
  verified?: { source: string; on: string };
  /** The model's key in LiteLLM's list of prices, where it cannot be derived from the family and the model. */
  price_key?: string;
  /** Why our cost is not the one of that list. */
  price_differs?: string;
  /** Why this mapping may cost more than the client pays. */
  loss_ok?: string;
  /**
   * Our parameter key → the provider's, or several of them. A key that is not listed is sent under its own name and value; `null`
   * means "not sent".
   */
  parameters: Record<string, FieldMapping | FieldMapping[] | null>;
  /**
   * Fields that depend on several parameters. Every rule that a request meets sends its fields; of two rules with one field, the
   * first decides. A parameter in `when` is not sent under its own name, unless `parameters` lists it.
   */
  sends?: { when: RequestCondition; fields: JsonObject }[];
  /** Fields that are always sent, with these values. */
  fixed?: JsonObject;
  /** The values that this family offers, by parameter. A task with another value goes to the other families. */
  only?: Record<string, (string | number | boolean)[]>;
  /** The requests that this family does not take, such as two inputs that exclude each other. They go to the other families. */
  refuses?: RequestCondition[];
  /** The further fields of a chat request that are sent to this family. Absent: `passThroughDefault`. */
  pass_through?: string[];
  /** Chat: the model refuses a forced tool choice, so a request that forces one goes to the other families. */
  no_forced_tools?: boolean;
  /** Chat: the most tools that the vendor takes. Absent: the family's own limit. */
  tools_max?: number;
  /** Anthropic and Gemini: how the model takes `reasoning_effort`, as a level or as a budget of tokens. Absent: not at all. */
  thinking?: 'adaptive' | 'budget';
  /** Anthropic: the model takes messages of the system between the turns. Otherwise they become part of its instructions. */
  system_turns?: boolean;
  /** Chat: the model reads PDFs, and what the provider counts for a page. Absent: it takes none. */
  documents?: {
    /** The most tokens, for the picture of a page and 3,000 tokens of text on it. */
    page_tokens: number;
    /** The tokens of an ordinary page, for estimates. */
    likely_page_tokens: number;
  };
  /** OpenAI: the API that serves the model. Absent: chat completions. */
  api?: 'responses';
  /** OpenAI-compatible: the vendor, whose own table says which fields it takes. Absent: OpenAI's own fields are sent. */
  vendor?: string;
  /** OpenAI-compatible: the model wants its `reasoning_content` back with the results of its tool calls. */
  keeps_reasoning?: boolean;
  /** The provider's names of the media inputs, for families whose models each use other names. */
  inputs?: Partial<Record<'image' | 'reference_images' | 'video_url' | 'audio_url', string>>;
}

/** The private part of a model: clients never see it. */
export interface ModelPrivate {
  /** False hides the model from the listing and from use. */
  public: boolean;
  /** Channel groups that may serve the model. */
  groups: string[];
  /** The request field (and `parameters` key) that carries the vendor's variants; catalog data, never hard-coded. */
  variant_field: string | null;
  /** The most reference images that the model accepts. */
  reference_images_max: number;
  /** Tokens that the hold counts for one image in a chat message. */
  image_tokens: number;
  /** Tokens of context, for chat models. */
  context_tokens: number | null;
  /** For chat models whose thoughts count against `max_tokens`: the least that is sent, and the default. */
  max_tokens?: { min: number; default: number };
  /** For chat models: the most tokens of output that a request under `/v1` may ask for. */
  max_output_tokens?: number;
  /** For chat models: false spreads the turns of a conversation over the channels. Otherwise they go to the same one. */
  session_affinity?: boolean;
  /** Why the model is no longer sold. Its entry stays for the tasks that used it, and another model may have its id as an alias. */
  retired?: string;
  /** Why the model may cost more than the client pays, whatever family makes it. */
  loss_ok?: string;
  /**
   * Further names of this model. Those of a chat model count on every route. Those of an image or video model may preset parameters, and count on
   * legacy routes and on those for SDKs of other vendors.
   */
  aliases: Record<string, JsonObject>;
  /** By adapter family. */
  upstream: Record<string, UpstreamMapping>;
}

export interface CatalogEntry {
  model: Model;
  private: ModelPrivate;
}
