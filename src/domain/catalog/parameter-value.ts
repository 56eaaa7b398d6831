/** The value of a tuning parameter. */
export type ParameterValue = string | number | boolean;

/** Media inputs. They are sent upstream as separate fields, never among the tuning parameters. */
export const mediaInputKeys: readonly MediaInputKey[] = ['image', 'reference_images', 'video_url', 'audio_url'];
export type MediaInputKey = 'image' | 'reference_images' | 'video_url' | 'audio_url';
